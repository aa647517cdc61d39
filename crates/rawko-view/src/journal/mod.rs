//! The journal for people and programs: stored records become entries, entries become lines. Separate from the
//! commands, because `run`, `resume`, `history`, `logs` and the page all show the same entries.

pub mod agent;
pub mod document;
pub mod family;
pub mod lines;
pub mod live;
mod player;
pub mod program;
mod styles;
pub mod tail;
pub mod task;
mod traced;
mod tree;
pub mod words;

use std::sync::Arc;

use rawko_core::{Effect, Fault, Status, Value};
use rawko_store::{RecordKind, WaitReason};

pub use player::Player;
pub use styles::without_styles;
pub use tree::InstanceTree;

/// One record of an instance, with everything needed to display it.
#[derive(Clone, Debug)]
pub struct JournalEntry {
    /// Position in the journal of the store.
    pub seq: u64,
    /// Id of the instance.
    pub instance: Arc<str>,
    /// Id of the chart.
    pub chart: Arc<str>,
    /// Agent that the instance runs.
    pub agent: Option<Arc<str>>,
    /// Number of the resulting step, or of the step that failed.
    pub step: u64,
    /// Time of the record, in milliseconds since 1970 UTC.
    pub at_ms: i64,
    /// Kind of the stored record.
    pub kind: RecordKind,
    /// The event of the record, or the beginning of the instance.
    pub what: EntryBody,
    /// Active states after the step.
    pub configuration: Vec<String>,
    /// Context keys whose value changed; all keys for the first record.
    pub changes: Vec<ContextChange>,
    /// Effects that the step requested from the host, in order.
    pub effects: Vec<EntryEffect>,
    /// Status of the instance after the step.
    pub status: Status,
    /// Kind of input that the instance waits for, as far as it is known for a past step.
    pub wait: WaitReason,
    /// States and transitions of the step; only set when steps are replayed.
    pub moves: Moves,
    /// True if this step changed the status.
    pub status_changed: bool,
    /// Output of the instance; null until it is done.
    pub output: Value,
    /// Reason why the step failed.
    pub refusal: Option<String>,
    /// Transitions that were considered, with reasons; only if requested.
    pub story: Vec<String>,
}

impl JournalEntry {
    /// Returns the expressions of the chart that failed in this step.
    pub fn faults(&self) -> impl Iterator<Item = &Fault> {
        self.effects.iter().filter_map(|told| match &told.effect {
            Effect::Fault(fault) => Some(fault),
            Effect::SetTimer { .. }
            | Effect::CancelTimer { .. }
            | Effect::Invoke(_)
            | Effect::StopInvoke { .. }
            | Effect::Send(_)
            | Effect::Emit { .. }
            | Effect::Call { .. }
            | Effect::Log { .. }
            | Effect::Complete { .. }
            | Effect::Cancelled { .. }
            | Effect::Stall { .. } => None,
        })
    }
}

/// States that a step exited and entered, and the transitions it took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// Paths, in order.
    pub entered: Vec<String>,
    /// Paths of exited states, in order.
    pub left: Vec<String>,
    /// Numbered as `data-transition` in a drawing.
    pub transitions: Vec<u32>,
}

/// Kind of a record, with its data.
#[derive(Clone, Debug)]
pub enum EntryBody {
    /// The instance started.
    Started {
        /// Id of the chart.
        chart: String,
        /// Version of the chart.
        version: String,
        /// Id of the invoking instance; `None` for a top-level instance.
        parent: Option<Arc<str>>,
        /// Input of the chart.
        input: Value,
    },
    /// The instance started as a fork.
    Forked {
        /// Id and step of the origin; `None` if they are not stored.
        from: Option<(Arc<str>, u64)>,
        /// Context keys that the fork set, with their values.
        edits: Value,
    },
    /// The instance continues on another chart.
    Migrated {
        /// The person; null if unknown.
        by: Value,
        /// Id and version of the chart before.
        from: (Arc<str>, Arc<str>),
        /// Id and version of the chart from here on.
        to: (Arc<str>, Arc<str>),
        /// True if this undid the migration before.
        back: bool,
    },
    /// Named event; `origin` is null for events from outside.
    Event {
        /// Name of the event.
        name: Arc<str>,
        /// Data of the event; null if it has none.
        data: Value,
        /// The sender, as a target of `send`.
        origin: Value,
    },
    /// A timer fired; holds its purpose as text.
    Timer(String),
    /// An invoke returned its result.
    Answered {
        /// Id of the invoke; a description if it is no longer pending.
        invoke: String,
        /// The result.
        data: Value,
    },
    /// An invoke failed.
    CallFailed {
        /// Id of the invoke; a description if it is no longer pending.
        invoke: String,
        /// The error, usually with `category` and `message`.
        error: Value,
    },
    /// A retry of failed work was requested.
    Retried {
        /// The item of an `each`; `None`: everything that failed.
        item: Option<String>,
    },
    /// Cancellation was requested.
    Cancelled {
        /// Reason given by the caller; null if there is none.
        reason: Value,
    },
    /// A person paused it.
    Paused {
        /// Proven author.
        by: Value,
    },
    /// The instance moves again.
    Resumed {
        /// Proven author.
        by: Value,
        /// Duration of the pause.
        paused_ms: i64,
    },
    /// Record that this version of rawko cannot read.
    Unreadable(String),
}

/// Context key whose value changed.
#[derive(Clone, Debug)]
pub struct ContextChange {
    /// The context key.
    pub key: Arc<str>,
    /// `None` if the key is new.
    pub before: Option<Value>,
    /// Value after the step.
    pub after: Value,
}

/// Effect, with data from the snapshot.
#[derive(Clone, Debug)]
pub struct EntryEffect {
    /// The effect as stored in the record.
    pub effect: Effect,
    /// Purpose of a timer; `None` for effects without a timer worth showing.
    pub timer: Option<Timer>,
}

/// Pending timer as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Timer {
    /// Description, such as `timeout of payment`.
    pub purpose: String,
    /// The construct that set the timer.
    pub kind: TimerKind,
    /// Due time, in milliseconds since 1970 UTC.
    pub due_ms: i64,
}

/// The construct of a chart that sets a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerKind {
    /// `after` of a state.
    After,
    /// A `send` with a delay.
    Send,
    /// The timeout of an invoke.
    Timeout,
    /// The delay before the next attempt of an invoke.
    Retry,
}

impl TimerKind {
    /// Returns the lower-case name, as in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            TimerKind::After => "after",
            TimerKind::Send => "send",
            TimerKind::Timeout => "timeout",
            TimerKind::Retry => "retry",
        }
    }
}
