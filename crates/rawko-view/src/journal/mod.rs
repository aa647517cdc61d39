//! The journal for people and programs: stored records become entries, entries become lines. Separate from the
//! commands, because `run`, `resume`, `history`, `logs` and the page all show the same entries.

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

/// One record of an instance, with everything needed to display it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Position in the journal of the store.
    pub seq: u64,
    pub instance: Arc<str>,
    /// Id of the chart.
    pub chart: Arc<str>,
    /// Agent that the instance runs.
    pub agent: Option<Arc<str>>,
    pub step: u64,
    pub at_ms: i64,
    pub kind: RecordKind,
    pub what: What,
    /// Active states after the step.
    pub configuration: Vec<String>,
    pub changes: Vec<Change>,
    pub effects: Vec<Told>,
    pub status: Status,
    /// Kind of input that the instance waits for, as far as it is known for a past step.
    pub wait: Wait,
    /// States and transitions of the step; only set when steps are replayed.
    pub moves: Moves,
    /// True if this step changed the status.
    pub status_changed: bool,
    pub output: Value,
    /// Reason why the step failed.
    pub refusal: Option<String>,
    /// Transitions that were considered, with reasons; only if requested.
    pub story: Vec<String>,
}

impl Entry {
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
    pub left: Vec<String>,
    /// Numbered as `data-transition` in a drawing.
    pub transitions: Vec<u32>,
}

/// Kind of a record, with its data.
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
    /// Named event; `origin` is null for events from outside.
    Event {
        name: Arc<str>,
        data: Value,
        origin: Value,
    },
    /// A timer fired; holds its purpose as text.
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
    /// A person paused it.
    Paused {
        by: Value,
    },
    Resumed {
        by: Value,
        paused_ms: i64,
    },
    /// Record that this version of rawko cannot read.
    Unreadable(String),
}

/// Context key whose value changed.
#[derive(Clone, Debug)]
pub struct Change {
    pub key: Arc<str>,
    /// `None` if the key is new.
    pub before: Option<Value>,
    pub after: Value,
}

/// Effect, with data from the snapshot.
#[derive(Clone, Debug)]
pub struct Told {
    pub effect: Effect,
    /// Purpose of a timer; `None` for effects without a timer worth showing.
    pub timer: Option<Timer>,
}

/// Pending timer as text.
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
