//! Merges the standard variables (`OTEL_…`) with our settings: destination, batching and sampling.

use std::time::Duration;

use rawko_host::Environment;

use super::settings::TraceSettings;
use crate::lineage::TraceId;

const DEFAULT_ENDPOINT: &str = "http://localhost:4318";
const PATH: &str = "/v1/traces";

/// Complete export configuration.
#[derive(Clone)]
pub(super) struct Sending {
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) timeout: Duration,
    pub(super) resource: Vec<(String, String)>,
    pub(super) sampling: Sampling,
    pub(super) queue_max: usize,
    pub(super) batch_max: usize,
    pub(super) delay: Duration,
}

/// Sampling of traces. Decided by the trace id alone, so that a trace is kept completely or not at all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sampling {
    All,
    None,
    Ratio(f64),
}

impl Sampling {
    pub(super) fn keeps(self, trace: TraceId) -> bool {
        let ratio = match self {
            Sampling::All => return true,
            Sampling::None => return false,
            Sampling::Ratio(ratio) => ratio.clamp(0.0, 1.0),
        };
        let low: [u8; 8] = std::array::from_fn(|at| trace.0[8 + at]);
        // Uses 63 bits like other SDKs, so that all agree about a trace.
        ((u64::from_be_bytes(low) >> 1) as f64) < ratio * (1_u64 << 63) as f64
    }
}

/// Returns whether the standard variables enable export: `Some(false)` disables it regardless of settings, `Some(true)`
/// enables it without any.
pub(crate) fn wanted_by(environment: &Environment) -> Option<bool> {
    let is_disabled =
        said(environment, "OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    match said(environment, "OTEL_TRACES_EXPORTER") {
        _ if is_disabled => Some(false),
        Some("none") => Some(false),
        Some("otlp") => Some(true),
        Some(_) | None => endpoint(environment).is_some().then_some(true),
    }
}

impl Sending {
    pub(super) fn new(settings: &TraceSettings, environment: &Environment) -> Result<Self, String> {
        insist(environment, "PROTOCOL", "http/protobuf")?;
        insist(environment, "COMPRESSION", "none")?;
        let own = settings.endpoint.as_ref().map(|endpoint| with_path(endpoint));
        let url = endpoint(environment).or(own).unwrap_or_else(|| with_path(DEFAULT_ENDPOINT));
        let mut headers: Vec<_> = settings.headers.clone().into_iter().collect();
        headers.extend(of_exporter(environment, "HEADERS").into_iter().flat_map(pairs));
        let number = |name: &str, otherwise: u64| match said(environment, name) {
            None => Ok(otherwise),
            Some(text) => text.parse::<u64>().map_err(|_| format!("{name}: `{text}` is not a number")),
        };
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX).max(1);
        let timeout_ms = match of_exporter(environment, "TIMEOUT") {
            None => 10_000,
            Some(text) => {
                text.parse().map_err(|_| format!("OTEL_EXPORTER_OTLP_TIMEOUT: `{text}` is not a number"))?
            }
        };
        Ok(Self {
            url,
            headers,
            timeout: Duration::from_millis(timeout_ms),
            resource: resource(settings, environment),
            sampling: sampling(environment)?,
            queue_max: size(number("OTEL_BSP_MAX_QUEUE_SIZE", 2_048)?),
            batch_max: size(number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512)?),
            delay: Duration::from_millis(number("OTEL_BSP_SCHEDULE_DELAY", 5_000)?),
        })
    }
}

fn said<'e>(environment: &'e Environment, name: &str) -> Option<&'e str> {
    environment.get(name).map(str::trim).filter(|value| !value.is_empty())
}

/// Returns an exporter variable; the one for traces overrides the general one.
fn of_exporter<'e>(environment: &'e Environment, what: &str) -> Option<&'e str> {
    said(environment, &format!("OTEL_EXPORTER_OTLP_TRACES_{what}"))
        .or_else(|| said(environment, &format!("OTEL_EXPORTER_OTLP_{what}")))
}

/// The traces endpoint is used unchanged; the traces path is appended to the general endpoint.
fn endpoint(environment: &Environment) -> Option<String> {
    let own = said(environment, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").map(str::to_owned);
    own.or_else(|| said(environment, "OTEL_EXPORTER_OTLP_ENDPOINT").map(with_path))
}

fn with_path(endpoint: &str) -> String {
    format!("{}{PATH}", endpoint.trim_end_matches('/'))
}

fn insist(environment: &Environment, what: &str, known: &str) -> Result<(), String> {
    match of_exporter(environment, what) {
        Some(other) if other != known => {
            Err(format!("OTEL_EXPORTER_OTLP_{what} is `{other}`, and only `{known}` is known here"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Parses `a=b,c=d`, the format of headers and attributes, with percent-encoding.
fn pairs(text: &str) -> impl Iterator<Item = (String, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| (key.trim().to_owned(), decoded(value.trim())))
}

fn decoded(text: &str) -> String {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        let hex = others.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match hex.and_then(|two| u8::from_str_radix(two, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                out.push(byte);
                rest = &others[2..];
            }
            None => {
                out.push(*first);
                rest = others;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn resource(settings: &TraceSettings, environment: &Environment) -> Vec<(String, String)> {
    let given: Vec<_> = said(environment, "OTEL_RESOURCE_ATTRIBUTES").into_iter().flat_map(pairs).collect();
    let named = given.iter().find(|(key, _)| key == "service.name").map(|(_, name)| name.clone());
    let name = said(environment, "OTEL_SERVICE_NAME").map(str::to_owned).or(named);
    let name = name.or_else(|| settings.service_name.clone()).unwrap_or_else(|| "rawko".to_owned());
    let mut all = vec![
        ("service.name".to_owned(), name),
        ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("telemetry.sdk.language".to_owned(), "rust".to_owned()),
        ("telemetry.sdk.name".to_owned(), "rawko".to_owned()),
    ];
    all.extend(given.into_iter().filter(|(key, _)| key != "service.name"));
    all
}

/// rawko's traces have no remote parent, so the `parentbased_` prefix has no effect.
fn sampling(environment: &Environment) -> Result<Sampling, String> {
    let named = said(environment, "OTEL_TRACES_SAMPLER").unwrap_or("always_on");
    match named.strip_prefix("parentbased_").unwrap_or(named) {
        "always_on" => Ok(Sampling::All),
        "always_off" => Ok(Sampling::None),
        "traceidratio" => match said(environment, "OTEL_TRACES_SAMPLER_ARG").map(str::parse) {
            None => Ok(Sampling::All),
            Some(Ok(ratio)) => Ok(Sampling::Ratio(ratio)),
            Some(Err(_)) => Err("OTEL_TRACES_SAMPLER_ARG is not a number".to_owned()),
        },
        other => Err(format!("OTEL_TRACES_SAMPLER: `{other}` is not known here")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sending(variables: &[(&str, &str)], endpoint: Option<&str>) -> Result<Sending, String> {
        let environment: Environment = variables.iter().copied().collect();
        let settings = TraceSettings { endpoint: endpoint.map(str::to_owned), ..TraceSettings::default() };
        Sending::new(&settings, &environment)
    }

    /// Name, variables, settings, and expected destination.
    type VariableCase<'c> = (&'c str, &'c [(&'c str, &'c str)], Option<&'c str>, &'c str);

    #[test]
    fn where_spans_go() {
        let (all, traces) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        let table: [VariableCase<'_>; 5] = [
            ("nobody says", &[], None, "http://localhost:4318/v1/traces"),
            ("settings say", &[], Some("https://c.test:4318/"), "https://c.test:4318/v1/traces"),
            (
                "the environment goes over them",
                &[(all, "http://e.test")],
                Some("https://c.test"),
                "http://e.test/v1/traces",
            ),
            (
                "an address for traces is taken as it is",
                &[(all, "http://e.test"), (traces, "http://t.test/x")],
                None,
                "http://t.test/x",
            ),
            ("empty is nothing", &[(all, " ")], None, "http://localhost:4318/v1/traces"),
        ];
        for (name, variables, endpoint, url) in table {
            assert_eq!(sending(variables, endpoint).unwrap().url, url, "{name}");
        }
    }

    #[test]
    fn headers_and_resources_are_pairs() {
        let variables = [
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x, x-team = research"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test,service.name=shop"),
        ];
        let sending = sending(&variables, None).unwrap();
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(sending.headers, [pair("authorization", "Bearer x"), pair("x-team", "research")]);
        assert_eq!(sending.resource[0], pair("service.name", "shop"));
        assert_eq!(sending.resource.last(), Some(&pair("deployment.environment", "test")));
    }

    #[test]
    fn a_part_of_all_traces_is_kept_and_always_the_same() {
        let sampling = sending(
            &[("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "0.25")],
            None,
        );
        let sampling = sampling.unwrap().sampling;
        assert_eq!(sampling, Sampling::Ratio(0.25));
        let ids = (0..4_000).map(|number| crate::lineage::trace_of("t", number));
        let kept = ids.filter(|trace| sampling.keeps(*trace)).count();
        assert!((800..1_200).contains(&kept), "{kept}");
    }

    #[test]
    fn what_is_not_known_is_said() {
        let table = [
            (
                ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
                "OTEL_EXPORTER_OTLP_PROTOCOL is `grpc`, and only `http/protobuf` is known here",
            ),
            (
                ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
                "OTEL_EXPORTER_OTLP_COMPRESSION is `gzip`, and only `none` is known here",
            ),
            (("OTEL_TRACES_SAMPLER", "sometimes"), "OTEL_TRACES_SAMPLER: `sometimes` is not known here"),
            (("OTEL_BSP_SCHEDULE_DELAY", "soon"), "OTEL_BSP_SCHEDULE_DELAY: `soon` is not a number"),
        ];
        for (variable, told) in table {
            assert_eq!(sending(&[variable], None).err().as_deref(), Some(told));
        }
    }
}
