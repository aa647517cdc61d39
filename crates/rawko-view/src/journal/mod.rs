//! The journal as people and programs read it: stored records become entries, entries become lines. Apart from the
//! commands, because `run`, `resume`, `history`, `logs` and the page all show the same thing.

pub mod agent;
pub mod document;
pub mod family;
pub mod lines;
pub mod live;
mod player;
pub mod tail;
pub mod task;
mod traced;
mod tree;
pub mod words;

use std::sync::Arc;

use rawko_core::{Effect, Fault, Status, Value};
use rawko_store::{RecordKind, Wait};

pub use player::Player;
pub use tree::Tree;

/// One record of an instance, with what is needed to tell it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its place in the store's whole journal.
    pub seq: u64,
    pub instance: Arc<str>,
    /// The id of its chart.
    pub chart: Arc<str>,
    /// The agent that the instance plays.
    pub agent: Option<Arc<str>>,
    pub step: u64,
    pub at_ms: i64,
    pub kind: RecordKind,
    pub what: What,
    /// The active states afterwards.
    pub configuration: Vec<String>,
    pub changes: Vec<Change>,
    pub effects: Vec<Told>,
    pub status: Status,
    /// What would move it, as far as it is known for a step of the past.
    pub wait: Wait,
    /// What the step did in the chart; only where steps are taken again.
    pub moves: Moves,
    /// Whether this step brought the status.
    pub status_changed: bool,
    pub output: Value,
    /// Why the step could not be taken.
    pub refusal: Option<String>,
    /// Which transitions were looked at, and why; only when asked for.
    pub story: Vec<String>,
}

impl Entry {
    /// Expressions of the chart that failed in this step.
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

/// Which states a step left and entered, and by which transitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// Paths, in order.
    pub entered: Vec<String>,
    pub left: Vec<String>,
    /// As `data-transition` of a drawing has them.
    pub transitions: Vec<u32>,
}

/// What a record is about.
#[derive(Clone, Debug)]
pub enum What {
    Started {
        chart: String,
        version: String,
        parent: Option<Arc<str>>,
        input: Value,
    },
    Forked {
        from: Option<(Arc<str>, u64)>,
        edits: Value,
    },
    /// An event by name; `origin` is null when it came from outside.
    Event {
        name: Arc<str>,
        data: Value,
        origin: Value,
    },
    /// A timer fired; what it was for, in words.
    Timer(String),
    Answered {
        invoke: String,
        data: Value,
    },
    CallFailed {
        invoke: String,
        error: Value,
    },
    Retried,
    Cancelled {
        reason: Value,
    },
    /// A record that this rawko cannot read.
    Unreadable(String),
}

/// A key of the context that has another value than before.
#[derive(Clone, Debug)]
pub struct Change {
    pub key: Arc<str>,
    /// `None`: there is no before.
    pub before: Option<Value>,
    pub after: Value,
}

/// An effect, with what only the snapshot beside it knows.
#[derive(Clone, Debug)]
pub struct Told {
    pub effect: Effect,
    /// What a timer is for; `None` for what nobody wants to hear of.
    pub timer: Option<Timer>,
}

/// A pending timer in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Timer {
    pub purpose: String,
    pub kind: TimerKind,
    pub due_ms: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerKind {
    After,
    Send,
    Timeout,
    Retry,
}

impl TimerKind {
    pub fn as_str(self) -> &'static str {
        match self {
            TimerKind::After => "after",
            TimerKind::Send => "send",
            TimerKind::Timeout => "timeout",
            TimerKind::Retry => "retry",
        }
    }
}
