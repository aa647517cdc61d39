//! `Export`: the official exporter and its batches, set up from the standard variables and our settings. Nothing else here
//! knows where spans go.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry::{KeyValue, TraceId};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{
    BatchSpanProcessor, Sampler, SamplingDecision, ShouldSample, SpanData, SpanProcessor,
};
use tokio::runtime::Handle;

use super::http::Client;
use super::settings::TraceSettings;
use crate::metrics::Metrics;
use crate::redact::Redactor;
use crate::telemetry::TelemetryError;

pub(crate) struct Export {
    processor: BatchSpanProcessor,
    sampler: Sampler,
}

impl Export {
    pub(crate) fn start(
        settings: &TraceSettings,
        redactor: &Redactor,
        metrics: Arc<Metrics>,
    ) -> Result<Self, TelemetryError> {
        let failed = |why: String| TelemetryError::Traces(redactor.hide(&why).into_owned());
        insist_on_protocol().map_err(failed)?;
        let runtime = Handle::try_current().map_err(|error| failed(error.to_string()))?;
        let client = Client::new(runtime, metrics, redactor.clone()).map_err(failed)?;
        let headers = settings.headers.clone().into_iter().collect();
        let mut builder = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_protocol(Protocol::HttpBinary)
            .with_headers(headers);
        // What the environment says goes over the settings; the builder has it the other way round.
        if let Some(endpoint) = settings.endpoint.as_ref().filter(|_| !endpoint_in_environment()) {
            builder = builder.with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')));
        }
        let exporter = builder.build().map_err(|error| failed(error.to_string()))?;
        let mut processor = BatchSpanProcessor::builder(exporter).build();
        processor.set_resource(&resource(settings));
        Ok(Self { processor, sampler: sampler().map_err(failed)? })
    }

    /// Whether a trace is kept depends on its id alone, so that all of it is, or nothing.
    pub(crate) fn keeps(&self, trace: TraceId) -> bool {
        let kind = opentelemetry::trace::SpanKind::Internal;
        let result = self.sampler.should_sample(None, trace, "", &kind, &[], &[]);
        result.decision == SamplingDecision::RecordAndSample
    }

    pub(crate) fn send(&self, span: SpanData) {
        if self.keeps(span.span_context.trace_id()) {
            self.processor.on_end(span);
        }
    }

    /// Sends what is left, if that does not take long.
    pub(crate) fn close(&self, patience: Duration) {
        // What did not arrive has been told by the client.
        let _ = self.processor.shutdown_with_timeout(patience);
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

pub(crate) fn endpoint_in_environment() -> bool {
    ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"]
        .into_iter()
        .any(|name| variable(name).is_some())
}

/// What the standard variables say about sending at all: `Some(false)` whatever settings say, `Some(true)` even if they
/// say nothing.
pub(crate) fn wanted_by_environment() -> Option<bool> {
    let is_disabled = variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    match variable("OTEL_TRACES_EXPORTER").as_deref() {
        _ if is_disabled => Some(false),
        Some("none") => Some(false),
        Some("otlp") => Some(true),
        Some(_) | None => endpoint_in_environment().then_some(true),
    }
}

fn insist_on_protocol() -> Result<(), String> {
    let said =
        variable("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL").or_else(|| variable("OTEL_EXPORTER_OTLP_PROTOCOL"));
    match said.as_deref() {
        None | Some("http/protobuf") => Ok(()),
        Some(other) => Err(format!("OTLP goes out as `http/protobuf`, not as `{other}`")),
    }
}

fn resource(settings: &TraceSettings) -> Resource {
    let named = variable("OTEL_SERVICE_NAME").is_some()
        || variable("OTEL_RESOURCE_ATTRIBUTES").is_some_and(|all| all.contains("service.name="));
    let builder =
        Resource::builder().with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    let name = settings.service_name.clone().unwrap_or_else(|| "rawko".to_owned());
    if named { builder.build() } else { builder.with_service_name(name).build() }
}

/// As the standard variables say. A trace of ours has no parent elsewhere, so `parentbased_…` is what it is at the root.
fn sampler() -> Result<Sampler, String> {
    let said = variable("OTEL_TRACES_SAMPLER").unwrap_or_else(|| "always_on".to_owned());
    let ratio = || match variable("OTEL_TRACES_SAMPLER_ARG") {
        None => Ok(1.0),
        Some(text) => {
            text.parse::<f64>().map_err(|_| format!("OTEL_TRACES_SAMPLER_ARG: `{text}` is no number"))
        }
    };
    match said.strip_prefix("parentbased_").unwrap_or(&said) {
        "always_on" => Ok(Sampler::AlwaysOn),
        "always_off" => Ok(Sampler::AlwaysOff),
        "traceidratio" => Ok(Sampler::TraceIdRatioBased(ratio()?)),
        other => Err(format!("OTEL_TRACES_SAMPLER: `{other}` is not known here")),
    }
}
