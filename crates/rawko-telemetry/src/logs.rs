//! Log lines as text or JSON, for long-running processes: instance, step, trace. Only rawko's own lines are logged,
//! because rawko cannot vouch for the `debug` output of libraries; all lines are redacted.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use jiff::Timestamp;
use rawko_chart::printable;
use rawko_core::Status;
use rawko_host::{CallOutcome, CommittedSteps, FinishedCall, HostEvent, ObservedCompletion};
use rawko_store::RecordKind;
use serde_json::{Map, Value as Json};

use crate::lineage::Lineages;
use rawko_settings::Redactor;

/// Verbosity of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// No log at all; the default of a process that is not a server.
    Off,
    /// Failed requests of a server; observations of a host are at most warnings.
    Error,
    /// Conditions that need attention.
    Warn,
    /// Start and end of instances, failed calls.
    Info,
    /// Every step and every call.
    Debug,
}

/// Format of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// `TIME LEVEL message key=value …`; line breaks are replaced by spaces.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Settings of the log, after environment and command line have been applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// Lines above this level are dropped.
    pub level: LogLevel,
    /// Format of all lines.
    pub format: LogFormat,
}

impl LogLevel {
    /// Parses a level, ignoring case and surrounding space; `trace` means debug. `None` if it is unknown.
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "off" | "none" => Some(Self::Off),
            "error" => Some(Self::Error),
            "warn" | "warning" => Some(Self::Warn),
            "info" => Some(Self::Info),
            // There is no finer level, but `trace` is a common choice.
            "debug" | "trace" => Some(Self::Debug),
            _ => None,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

impl LogFormat {
    /// Parses `text` or `json`, in lower case only.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "text" => Some(Self::Text),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// Destination of log lines.
pub struct Logs {
    settings: LogSettings,
    redactor: Redactor,
    out: Mutex<Box<dyn Write + Send>>,
}

impl Logs {
    pub(crate) fn new(settings: LogSettings, redactor: Redactor) -> Self {
        Self::to(Box::new(io::stderr()), settings, redactor)
    }

    /// Logs to a writer other than standard error.
    pub fn to(out: Box<dyn Write + Send>, settings: LogSettings, redactor: Redactor) -> Self {
        Self { settings, redactor, out: Mutex::new(out) }
    }

    /// Writes one line, if the level is enabled.
    pub fn line(&self, level: LogLevel, message: &str, fields: &[(&str, Json)]) {
        if level > self.settings.level {
            return;
        }
        let at = Timestamp::try_from(SystemTime::now()).unwrap_or_default();
        let line = match self.settings.format {
            LogFormat::Json => json(at, level, message, fields),
            LogFormat::Text => text(at, level, message, fields),
        };
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // A closed output must not stop the process.
        let line = self.redactor.hide(&line);
        // A terminal may show it, now or later.
        let _ = out.write_all(printable(&line).as_bytes());
    }

    /// Returns true if an observation may give a line. Tested on the host's thread: at the level of a server most
    /// observations give none, and need not be queued.
    pub(crate) fn wants(&self, observation: &HostEvent) -> bool {
        let is_enabled = |level: LogLevel| level <= self.settings.level;
        match observation {
            HostEvent::Committed(committed) => {
                (committed.before.is_none() && is_enabled(LogLevel::Info))
                    || committed.steps.iter().any(|taken| is_enabled(step_line(taken.kind).0))
                    || last_line(committed).is_some_and(|(level, _)| is_enabled(level))
            }
            HostEvent::Calling(_) => false,
            HostEvent::Called(FinishedCall { outcome: CallOutcome::Failed { .. }, .. })
            | HostEvent::Completed(ObservedCompletion { finish: Err(_), .. }) => is_enabled(LogLevel::Info),
            HostEvent::Called(_) | HostEvent::Completed(_) => is_enabled(LogLevel::Debug),
            HostEvent::Troubled { .. } => is_enabled(LogLevel::Warn),
        }
    }

    /// Logs an observation.
    pub(crate) fn tell(&self, observation: &HostEvent, lineages: &mut Lineages) {
        match observation {
            HostEvent::Committed(committed) => {
                let trace = Json::from(lineages.of(&committed.instance).trace.to_string());
                self.committed(committed, &trace);
            }
            HostEvent::Calling(_) => {}
            HostEvent::Called(called) => {
                let trace = lineages.find(&called.calling.instance).map(|lineage| lineage.trace.to_string());
                self.called(called, trace.into());
            }
            HostEvent::Completed(completed) => self.completed(completed),
            HostEvent::Troubled { about, message } => {
                self.line(LogLevel::Warn, message, &[("about", about.as_str().into())]);
            }
        }
    }

    fn committed(&self, committed: &CommittedSteps, trace: &Json) {
        let instance = || ("instance", Json::from(&*committed.instance.id));
        let chart = || ("chart", Json::from(&*committed.instance.chart_id));
        let trace = || ("trace_id", trace.clone());
        if committed.before.is_none() {
            self.line(LogLevel::Info, "began", &[instance(), chart(), trace()]);
        }
        for taken in &committed.steps {
            let (level, message) = step_line(taken.kind);
            let (step, event) = (("step", taken.step.into()), ("event", Json::from(&*taken.event)));
            self.line(level, message, &[instance(), step, event, trace()]);
        }
        let Some((level, message)) = last_line(committed) else { return };
        let step = ("step", committed.steps.last().map(|taken| taken.step).into());
        let status = ("status", committed.status.as_str().into());
        let why = committed.error.as_deref().or(committed.outcome.as_deref());
        self.line(level, message, &[instance(), step, chart(), status, ("outcome", why.into()), trace()]);
    }

    fn called(&self, called: &FinishedCall, trace: Json) {
        let calling = &called.calling;
        let (level, message, error) = match &called.outcome {
            CallOutcome::Answered => (LogLevel::Debug, "answered".to_owned(), None),
            CallOutcome::Complained => (LogLevel::Debug, "complained".to_owned(), None),
            CallOutcome::Stopped => (LogLevel::Debug, "stopped".to_owned(), None),
            CallOutcome::Failed { code, message } => {
                (LogLevel::Info, format!("call failed: {message}"), Some(&**code))
            }
        };
        let fields = [
            ("instance", Json::from(&*calling.instance)),
            ("step", calling.step.into()),
            ("call", (&*calling.name).into()),
            ("took_ms", millis(called.took)),
            ("error", error.into()),
            ("trace_id", trace),
        ];
        self.line(level, &message, &fields);
    }

    /// Instance and trace are logged with the call that the completion belongs to.
    fn completed(&self, completed: &ObservedCompletion) {
        let (level, message, reason) = match &completed.finish {
            Ok(reason) => (LogLevel::Debug, "completion", reason),
            Err(code) => (LogLevel::Info, "no completion", code),
        };
        let fields = [
            ("effect", Json::from(completed.idempotency.as_str())),
            ("agent", completed.agent.as_str().into()),
            ("provider", completed.provider.as_str().into()),
            ("model", completed.model.as_str().into()),
            ("reason", (&**reason).into()),
            ("input_tokens", completed.usage.input_tokens.into()),
            ("output_tokens", completed.usage.output_tokens.into()),
            ("took_ms", millis(completed.took)),
        ];
        self.line(level, message, &fields);
    }
}

fn step_line(kind: RecordKind) -> (LogLevel, &'static str) {
    match kind {
        RecordKind::Failed => (LogLevel::Warn, "step failed"),
        RecordKind::Started
        | RecordKind::Forked
        | RecordKind::Stepped
        | RecordKind::Ignored
        | RecordKind::Migrated => (LogLevel::Debug, "step"),
    }
}

/// Returns the line about a new status.
fn last_line(committed: &CommittedSteps) -> Option<(LogLevel, &'static str)> {
    match committed.status {
        status if committed.before == Some(status) => None,
        Status::Active => None,
        Status::Done | Status::Cancelled => Some((LogLevel::Info, "ended")),
        Status::Error => Some((LogLevel::Warn, "failed")),
    }
}

fn millis(time: std::time::Duration) -> Json {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).into()
}

fn json(at: Timestamp, level: LogLevel, message: &str, fields: &[(&str, Json)]) -> String {
    let mut line = Map::new();
    line.insert("timestamp".to_owned(), at.to_string().into());
    line.insert("level".to_owned(), level.as_str().into());
    line.insert("message".to_owned(), message.into());
    let said = fields.iter().filter(|(_, value)| !value.is_null());
    line.extend(said.map(|(key, value)| ((*key).to_owned(), value.clone())));
    format!("{}\n", Json::Object(line))
}

/// Line breaks in a message are replaced, so that it stays one line.
fn text(at: Timestamp, level: LogLevel, message: &str, fields: &[(&str, Json)]) -> String {
    let message = message.replace(['\n', '\r'], " ");
    let mut line = format!("{at} {} {message}", level.as_str().to_ascii_uppercase());
    for (key, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        line += &format!(" {key}={}", value.replace(['\n', '\r'], " "));
    }
    line + "\n"
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rawko_host::{Spent, StepTaken};
    use rawko_store::{MemoryStore, NewInstance};

    use super::*;

    #[derive(Clone, Default)]
    struct KeptLines(Arc<Mutex<Vec<u8>>>);

    impl Write for KeptLines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn committed(before: Option<Status>, status: Status, kinds: &[RecordKind]) -> HostEvent {
        let new = NewInstance {
            id: "a".into(),
            chart: [0; 16],
            chart_id: "order".into(),
            version: "1.0.0".into(),
            parent: None,
            origin: None,
            created_ms: 0,
            policy: "".into(),
        };
        let step = |kind: &RecordKind| StepTaken {
            step: 1,
            at_ms: 0,
            kind: *kind,
            event: "GO".into(),
            late_ms: None,
        };
        HostEvent::Committed(CommittedSteps {
            instance: Arc::new(new),
            steps: kinds.iter().map(step).collect(),
            before,
            status,
            fault: None,
            outcome: None,
            error: None,
            spent: Spent::default(),
            asked: Vec::new(),
        })
    }

    #[test]
    fn an_observation_is_wanted_exactly_if_it_gives_a_line() {
        let active = Some(Status::Active);
        let observations = [
            committed(active, Status::Active, &[RecordKind::Stepped]),
            committed(active, Status::Active, &[RecordKind::Ignored, RecordKind::Failed]),
            committed(active, Status::Done, &[RecordKind::Stepped]),
            committed(active, Status::Error, &[RecordKind::Stepped]),
            committed(Some(Status::Error), Status::Active, &[RecordKind::Migrated]),
            committed(None, Status::Active, &[RecordKind::Started]),
            committed(active, Status::Active, &[]),
            HostEvent::Troubled { about: "store".to_owned(), message: "full".to_owned() },
        ];
        let mut wanted = Vec::new();
        for level in [LogLevel::Off, LogLevel::Error, LogLevel::Warn, LogLevel::Info, LogLevel::Debug] {
            for observation in &observations {
                let kept = KeptLines::default();
                let settings = LogSettings { level, format: LogFormat::Text };
                let logs = Logs::to(Box::new(kept.clone()), settings, Redactor::default());
                logs.tell(observation, &mut Lineages::new(Arc::new(MemoryStore::new())));
                let gives_line = !kept.0.lock().unwrap().is_empty();
                assert_eq!(logs.wants(observation), gives_line, "{level:?} {observation:?}");
                wanted.push(gives_line);
            }
        }
        assert_eq!(wanted.iter().filter(|wanted| **wanted).count(), 3 + 5 + 7);
    }

    fn written(format: LogFormat) -> String {
        let kept = KeptLines::default();
        let redactor = Redactor::of_values(["planted-key-0123456789".to_owned()]);
        let settings = LogSettings { level: LogLevel::Info, format };
        let logs = Logs::to(Box::new(kept.clone()), settings, redactor);
        logs.line(
            LogLevel::Info,
            "401 for\nplanted-key-0123456789",
            &[("step", 4.into()), ("error", Json::Null)],
        );
        logs.line(LogLevel::Debug, "not worth it", &[]);
        let bytes = kept.0.lock().unwrap().clone();
        let text = String::from_utf8(bytes).unwrap();
        // The text before the level is the timestamp.
        text.split_once(if format == LogFormat::Json { "\"level\"" } else { "Z " }).unwrap().1.to_owned()
    }

    #[test]
    fn a_line_leaves_without_its_secrets_and_stays_one_line() {
        assert_eq!(written(LogFormat::Text), "INFO 401 for [hidden] step=4\n");
        assert_eq!(written(LogFormat::Json), ":\"info\",\"message\":\"401 for\\n[hidden]\",\"step\":4}\n");
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
