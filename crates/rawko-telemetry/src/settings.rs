//! The `telemetry` section of a project's settings, and the environment variables that override it.
//!
//! ```yaml
//! telemetry:
//!   endpoint: http://127.0.0.1:4318        # overridden by OTEL_EXPORTER_OTLP_ENDPOINT
//!   headers: {Authorization: "Bearer ${COLLECTOR_TOKEN}"}
//!   service_name: billing                  # overridden by OTEL_SERVICE_NAME
//!   content: false
//!   steps: true
//!   log: {level: info, format: json}       # overridden by RAWKO_LOG and --log-format
//! ```

use std::sync::Arc;

use rawko_chart::{DocumentEntry, Finding, SpannedValue};
use rawko_host::{Environment, Settings, SettingsReader};

use crate::logs::{LogFormat, LogLevel};
use crate::traces::{TraceSettings, wanted_by};

/// Problems in settings, by file.
pub type TelemetryProblems = Vec<(Arc<str>, Vec<Finding>)>;

const KEYS: [&str; 6] = ["endpoint", "headers", "service_name", "content", "steps", "log"];

/// Telemetry settings of a project. `None`: not set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TelemetrySettings {
    traces: TraceSettings,
    /// `log.level` of the section; `RAWKO_LOG` overrides it.
    pub log_level: Option<LogLevel>,
    /// `log.format` of the section; `--log-format` overrides it.
    pub log_format: Option<LogFormat>,
}

impl TelemetrySettings {
    /// Reads the section; project settings override user settings.
    pub fn read(settings: &Settings) -> (Self, TelemetryProblems) {
        let mut own = Self::default();
        let mut problems = TelemetryProblems::new();
        let sections: Vec<_> = settings.sections("telemetry").collect();
        for section in sections.into_iter().rev() {
            let mut reader = SettingsReader::new(settings.environment());
            for entry in reader.record(&section.document, "`telemetry`", &KEYS) {
                own.take(&mut reader, entry, settings.environment());
            }
            if !reader.findings.is_empty() {
                problems.push((Arc::clone(&section.file), reader.findings));
            }
        }
        (own, problems)
    }

    /// Returns the trace settings; `None` if neither settings nor the standard variables configure a collector.
    pub fn traces(&self, environment: &Environment) -> Option<TraceSettings> {
        let is_wanted = wanted_by(environment).unwrap_or(self.traces.endpoint.is_some());
        is_wanted.then(|| self.traces.clone())
    }

    fn take(&mut self, reader: &mut SettingsReader<'_>, entry: &DocumentEntry, environment: &Environment) {
        let at = &entry.value;
        let what = format!("`{}` of `telemetry`", entry.key);
        match entry.key.as_str() {
            "endpoint" => self.traces.endpoint = endpoint(reader, at, &what),
            "headers" => {
                for header in reader.entries(at, &what) {
                    let named = format!("`{}` of {what}", header.key);
                    if let Some(value) = filled_in(reader, &header.value, &named, environment) {
                        self.traces.headers.insert(header.key.clone(), value);
                    }
                }
            }
            "service_name" => self.traces.service_name = reader.text(at, &what).map(str::to_owned),
            "content" => self.traces.content = flag(reader, at, &what).unwrap_or(self.traces.content),
            "steps" => self.traces.steps = flag(reader, at, &what).unwrap_or(self.traces.steps),
            _ => self.take_log(reader, at),
        }
    }

    fn take_log(&mut self, reader: &mut SettingsReader<'_>, at: &SpannedValue) {
        for entry in reader.record(at, "`log` of `telemetry`", &["level", "format"]) {
            let Some(text) = reader.text(&entry.value, &format!("`{}` of `log`", entry.key)) else {
                continue;
            };
            let (is_known, help) = match entry.key.as_str() {
                "level" => {
                    self.log_level = LogLevel::parse(text).or(self.log_level);
                    (LogLevel::parse(text).is_some(), "`off`, `error`, `warn`, `info` or `debug`")
                }
                _ => {
                    self.log_format = LogFormat::parse(text).or(self.log_format);
                    (LogFormat::parse(text).is_some(), "`text` or `json`")
                }
            };
            if !is_known {
                reader.invalid(entry.value.span, format!("`{text}` is no {} of a log", entry.key), help);
            }
        }
    }
}

fn endpoint(reader: &mut SettingsReader<'_>, at: &SpannedValue, what: &str) -> Option<String> {
    let text = reader.text(at, what)?;
    let is_address = reqwest::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    if !is_address {
        let help = "the collector's address for OTLP over HTTP, such as `http://127.0.0.1:4318`";
        reader.invalid(at.span, format!("`{text}` is not an address"), help);
    }
    is_address.then(|| text.to_owned())
}

fn flag(reader: &mut SettingsReader<'_>, at: &SpannedValue, what: &str) -> Option<bool> {
    let flag = at.to_json().as_bool();
    if flag.is_none() {
        reader.wrong_type(at, what, "true or false");
    }
    flag
}

/// Expands `${NAME}` in a text from the environment.
fn filled_in(
    reader: &mut SettingsReader<'_>,
    at: &SpannedValue,
    what: &str,
    environment: &Environment,
) -> Option<String> {
    let text = reader.text(at, what)?;
    let mut parts = text.split("${");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        let Some(value) = environment.get(name) else {
            reader.invalid(
                at.span,
                format!("{what} needs the variable `{name}`"),
                "set it, or take the header away",
            );
            return None;
        };
        out.push_str(value);
        out.push_str(rest);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use rawko_chart::SourceFile;

    use super::*;

    fn read(text: &str) -> (TelemetrySettings, Vec<String>) {
        let environment: Environment = [("TOKEN", "planted")].into_iter().collect();
        let (settings, findings) = Settings::of_source(&SourceFile::new("config.yaml", text), &environment);
        assert!(findings.is_empty(), "{findings:?}");
        let (own, problems) = TelemetrySettings::read(&settings);
        let words = problems.into_iter().flat_map(|(_, all)| all).map(|finding| finding.message).collect();
        (own, words)
    }

    #[test]
    fn everything_can_be_said_and_headers_are_not_shown() {
        let (own, problems) = read(
            "telemetry:\n  endpoint: http://127.0.0.1:4318\n  headers: {Authorization: 'Bearer ${TOKEN}'}\n  \
             service_name: billing\n  content: true\n  steps: false\n  log: {level: debug, format: json}\n",
        );
        assert_eq!(problems, [""; 0]);
        assert_eq!(own.traces.headers["Authorization"], "Bearer planted");
        assert_eq!((own.traces.content, own.traces.steps), (true, false));
        assert_eq!((own.log_level, own.log_format), (Some(LogLevel::Debug), Some(LogFormat::Json)));
        assert!(!format!("{own:?}").contains("planted"));
    }

    #[test]
    fn what_is_wrong_is_told() {
        let table = [
            ("{endpoint: collector}", "`collector` is not an address"),
            ("{headers: {X: '${NOBODY}'}}", "`X` of `headers` of `telemetry` needs the variable `NOBODY`"),
            ("{content: perhaps}", "`content` of `telemetry` must be true or false"),
            ("{log: {level: loud}}", "`loud` is no level of a log"),
            ("{logs: {}}", "`telemetry` has no key `logs`"),
        ];
        for (text, problem) in table {
            assert_eq!(read(&format!("telemetry: {text}\n")).1, [problem], "{text}");
        }
    }
}
