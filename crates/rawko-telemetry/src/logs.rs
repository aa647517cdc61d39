//! Log lines on standard error, as text or JSON, for processes that run long: which instance, which step, which trace.
//! Only rawko's own, because what libraries say at `debug` is not ours to vouch for; and no line leaves with a secret.

use std::io::{self, Write};
use std::sync::Arc;

use rawko_core::Status;
use rawko_host::{Called, Committed, Completed, Observation, Outcome};
use rawko_store::RecordKind;
use tracing::level_filters::LevelFilter;
use tracing::{debug, info, warn};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt};

use crate::lineage::Lineages;
use crate::redact::Redactor;
use crate::telemetry::TelemetryError;

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    Off,
    Error,
    /// What needs somebody.
    Warn,
    /// Instances that begin and end, calls that fail.
    Info,
    /// Every step and every call.
    Debug,
    Trace,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    #[default]
    Text,
    /// One object a line.
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSettings {
    pub level: LogLevel,
    pub format: LogFormat,
}

impl LogLevel {
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "off" | "none" => Some(Self::Off),
            "error" => Some(Self::Error),
            "warn" | "warning" => Some(Self::Warn),
            "info" => Some(Self::Info),
            "debug" => Some(Self::Debug),
            "trace" => Some(Self::Trace),
            _ => None,
        }
    }

    fn filter(self) -> LevelFilter {
        match self {
            Self::Off => LevelFilter::OFF,
            Self::Error => LevelFilter::ERROR,
            Self::Warn => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
            Self::Trace => LevelFilter::TRACE,
        }
    }
}

impl LogFormat {
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "text" => Some(Self::Text),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// Writes log lines to standard error from now on, for the whole process.
pub fn start_logs(settings: LogSettings, redactor: Redactor) -> Result<(), TelemetryError> {
    let redactor = Arc::new(redactor);
    let writer = move || Clean { redactor: Arc::clone(&redactor), out: io::stderr() };
    let layer: Box<dyn Layer<Registry> + Send + Sync> = match settings.format {
        LogFormat::Text => Box::new(fmt::layer().with_ansi(false).with_target(false).with_writer(writer)),
        LogFormat::Json => Box::new(
            fmt::layer()
                .json()
                .flatten_event(true)
                .with_target(false)
                .with_current_span(false)
                .with_span_list(false)
                .with_writer(writer),
        ),
    };
    let own = Targets::new().with_target("rawko", settings.level.filter());
    let subscriber = tracing_subscriber::registry().with(layer.with_filter(own));
    subscriber.try_init().map_err(|_| TelemetryError::Logs)
}

/// Takes secrets out of each line; a line is one write.
struct Clean<W> {
    redactor: Arc<Redactor>,
    out: W,
}

impl<W: Write> Write for Clean<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        // Nobody reading is no reason to stop.
        let _ = self.out.write_all(self.redactor.hide(&text).as_bytes());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// An observation as log lines.
pub(crate) fn tell(observation: &Observation, lineages: &mut Lineages) {
    match observation {
        Observation::Committed(committed) => {
            let trace = lineages.of(&committed.instance).trace.to_string();
            tell_committed(committed, &trace);
        }
        Observation::Calling(_) => {}
        Observation::Called(called) => tell_called(called, &trace(&called.calling.instance, lineages)),
        Observation::Completed(completed) => tell_completed(completed),
        Observation::Troubled { about, message } => warn!(target: "rawko", about, "{message}"),
    }
}

fn trace(instance: &str, lineages: &mut Lineages) -> String {
    lineages.find(instance).map_or_else(String::new, |lineage| lineage.trace.to_string())
}

fn tell_committed(committed: &Committed, trace_id: &str) {
    let (instance, chart) = (&*committed.instance.id, &*committed.instance.chart_id);
    if committed.before.is_none() {
        info!(target: "rawko", instance, chart, trace_id, "began");
    }
    for taken in &committed.steps {
        let (step, event) = (taken.step, &*taken.event);
        match taken.kind {
            RecordKind::Failed => warn!(target: "rawko", instance, step, event, trace_id, "step failed"),
            RecordKind::Started | RecordKind::Forked | RecordKind::Stepped | RecordKind::Ignored => {
                debug!(target: "rawko", instance, step, event, trace_id, "step");
            }
        }
    }
    let step = committed.steps.last().map_or(0, |taken| taken.step);
    match committed.status {
        status if committed.before == Some(status) => {}
        Status::Active => {}
        Status::Done | Status::Cancelled => {
            let (status, outcome) = (committed.status.as_str(), committed.outcome.as_deref());
            info!(target: "rawko", instance, step, chart, status, outcome, trace_id, "ended");
        }
        Status::Error => {
            let error = committed.error.as_deref();
            warn!(target: "rawko", instance, step, chart, error, trace_id, "failed");
        }
    }
}

fn tell_called(called: &Called, trace_id: &str) {
    let calling = &called.calling;
    let (instance, step, call) = (&*calling.instance, calling.step, &*calling.name);
    let took_ms = u64::try_from(called.took.as_millis()).unwrap_or(u64::MAX);
    match &called.outcome {
        Outcome::Answered => debug!(target: "rawko", instance, step, call, took_ms, trace_id, "answered"),
        Outcome::Complained => debug!(target: "rawko", instance, step, call, took_ms, trace_id, "complained"),
        Outcome::Stopped => debug!(target: "rawko", instance, step, call, took_ms, trace_id, "stopped"),
        Outcome::Failed { code, message } => {
            let error = &**code;
            info!(target: "rawko", instance, step, call, took_ms, error, trace_id, "call failed: {message}");
        }
    }
}

/// The call that it belongs to is told with its instance and its trace.
fn tell_completed(completed: &Completed) {
    let Completed { agent, provider, model, usage, .. } = completed;
    let took_ms = u64::try_from(completed.took.as_millis()).unwrap_or(u64::MAX);
    let effect = completed.idempotency.as_str();
    match &completed.finish {
        Ok(reason) => debug!(
            target: "rawko",
            effect, agent, provider, model, took_ms,
            input_tokens = usage.input_tokens, output_tokens = usage.output_tokens,
            finish_reason = &**reason,
            "completion"
        ),
        Err(code) => {
            info!(target: "rawko", effect, agent, provider, model, took_ms, error = &**code, "no completion");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_leaves_without_its_secrets() {
        let redactor = Arc::new(Redactor::of_values(["planted-key-0123456789".to_owned()]));
        let mut clean = Clean { redactor, out: Vec::new() };
        clean.write_all(b"{\"message\":\"401 for planted-key-0123456789\"}\n").unwrap();
        assert_eq!(String::from_utf8(clean.out).unwrap(), "{\"message\":\"401 for [hidden]\"}\n");
    }

    #[test]
    fn levels_are_read_as_people_write_them() {
        let table = [
            ("INFO", Some(LogLevel::Info)),
            (" warn ", Some(LogLevel::Warn)),
            ("loud", None),
            ("off", Some(LogLevel::Off)),
        ];
        for (text, level) in table {
            assert_eq!(LogLevel::parse(text), level, "{text}");
        }
    }
}
