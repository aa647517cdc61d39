//! `TriggerState`: the stored state of a trigger, as the context of its instance of the chart `trigger_log`, and the events that change
//! it. The chart only keeps; it decides nothing.

use rawko_core::{NamedEvent, Value};

/// The chart of triggers.
pub const CHART: &str = "trigger_log";

/// Returns the id of a trigger's instance.
pub fn instance_of(name: &str) -> String {
    format!("trigger:{name}")
}

/// The state of a trigger.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TriggerState {
    /// The definition that it was armed with.
    pub definition: String,
    /// Due times up to this moment are done.
    pub since_ms: i64,
    /// Number of runs.
    pub fired: i64,
    /// Number of due times without a run.
    pub missed: i64,
    /// The latest entries, oldest first.
    pub recent: Vec<TriggerRun>,
}

/// One run or delivery.
#[derive(Clone, Debug, PartialEq)]
pub struct TriggerRun {
    /// Time of the run in milliseconds.
    pub at_ms: i64,
    /// Due time of a schedule.
    pub due_ms: Option<i64>,
    /// Delivery id, or the due time as in instance ids.
    pub key: String,
    /// Kind of event, as the sender names it.
    pub kind: String,
    /// Result of the run.
    pub outcome: TriggerOutcome,
    /// The instance that was started or received the event.
    pub instance: Option<String>,
    /// The reason of a failure.
    pub detail: Option<String>,
    /// Due times that were left out before this one.
    pub missed: i64,
}

/// Result of a run or a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerOutcome {
    /// An instance or a task was started.
    Started,
    /// An event was sent.
    Sent,
    /// The task waits in the queue.
    Queued,
    /// The instance of the rule's own id existed already.
    Exists,
    /// No rule applied.
    Ignored,
    /// The host refused: unknown chart, unknown event, ended instance.
    Failed,
    /// Due times were left out, and nothing ran.
    Missed,
}

impl TriggerOutcome {
    const ALL: [TriggerOutcome; 7] = [
        TriggerOutcome::Started,
        TriggerOutcome::Sent,
        TriggerOutcome::Queued,
        TriggerOutcome::Exists,
        TriggerOutcome::Ignored,
        TriggerOutcome::Failed,
        TriggerOutcome::Missed,
    ];

    /// Returns the name used in the trigger log, the API and the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            TriggerOutcome::Started => "started",
            TriggerOutcome::Sent => "sent",
            TriggerOutcome::Queued => "queued",
            TriggerOutcome::Exists => "exists",
            TriggerOutcome::Ignored => "ignored",
            TriggerOutcome::Failed => "failed",
            TriggerOutcome::Missed => "missed",
        }
    }

    /// Returns true if something was started or sent.
    pub fn is_run(self) -> bool {
        match self {
            TriggerOutcome::Started | TriggerOutcome::Sent | TriggerOutcome::Queued => true,
            TriggerOutcome::Exists
            | TriggerOutcome::Ignored
            | TriggerOutcome::Failed
            | TriggerOutcome::Missed => false,
        }
    }

    fn of(text: &str) -> Option<TriggerOutcome> {
        TriggerOutcome::ALL.into_iter().find(|outcome| outcome.as_str() == text)
    }
}

impl TriggerState {
    /// Returns the input that starts a trigger's instance.
    pub fn input(name: &str, definition: &str, since_ms: i64) -> Value {
        Value::map([
            ("name", Value::str(name)),
            ("definition", Value::str(definition)),
            ("since_ms", Value::Int(since_ms)),
        ])
    }

    /// Returns the event that arms a trigger anew after its definition changed.
    pub fn armed(definition: &str, since_ms: i64) -> NamedEvent {
        let data = [("definition", Value::str(definition)), ("since_ms", Value::Int(since_ms))];
        NamedEvent::new("TRIGGER_ARMED", Value::map(data))
    }

    /// Reads the context of a trigger's instance.
    pub fn of_context(context: &Value) -> TriggerState {
        let number = |key| context.get(key).as_i64().unwrap_or_default();
        let recent = context.get("recent").as_list().unwrap_or_default();
        TriggerState {
            definition: context.get("definition").as_str().unwrap_or_default().to_owned(),
            since_ms: number("since_ms"),
            fired: number("fired"),
            missed: number("missed"),
            recent: recent.iter().filter_map(TriggerRun::of_value).collect(),
        }
    }

    /// Returns the last entry that started or sent something.
    pub fn last_run(&self) -> Option<&TriggerRun> {
        self.recent.iter().rev().find(|entry| entry.outcome.is_run())
    }
}

impl TriggerRun {
    /// Returns the event that records this entry.
    pub fn event(&self) -> NamedEvent {
        let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::str);
        let data = [
            ("at_ms", Value::Int(self.at_ms)),
            ("due_ms", self.due_ms.map_or(Value::Null, Value::Int)),
            ("key", Value::str(&self.key)),
            ("kind", Value::str(&self.kind)),
            ("outcome", Value::str(self.outcome.as_str())),
            ("instance", text(&self.instance)),
            ("detail", text(&self.detail)),
            ("missed", Value::Int(self.missed)),
            ("runs", Value::Int(i64::from(self.outcome.is_run()))),
        ];
        NamedEvent::new("TRIGGER_FIRED", Value::map(data))
    }

    fn of_value(value: &Value) -> Option<TriggerRun> {
        let text = |key| value.get(key).as_str().map(str::to_owned);
        Some(TriggerRun {
            at_ms: value.get("at_ms").as_i64()?,
            due_ms: value.get("due_ms").as_i64(),
            key: text("key")?,
            kind: text("kind").unwrap_or_default(),
            outcome: TriggerOutcome::of(value.get("outcome").as_str()?)?,
            instance: text("instance"),
            detail: text("detail"),
            missed: value.get("missed").as_i64().unwrap_or_default(),
        })
    }
}
