//! The journal as people and programs read it: stored records become entries, entries become lines. Apart from the
//! commands, because `run`, `resume`, `history` and `logs` all show the same thing.

pub(crate) mod agent;
pub(crate) mod lines;
mod player;
pub(crate) mod tail;
pub(crate) mod task;
pub(crate) mod text;
mod tree;
pub(crate) mod words;

use std::sync::Arc;

use rawko_core::{Effect, Status, Value};
use rawko_store::RecordKind;

pub(crate) use player::Player;
pub(crate) use tree::Tree;

/// One record of an instance, with what is needed to tell it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Its place in the store's whole journal.
    pub(crate) seq: u64,
    pub(crate) instance: Arc<str>,
    /// The agent that the instance plays.
    pub(crate) agent: Option<Arc<str>>,
    pub(crate) step: u64,
    pub(crate) at_ms: i64,
    pub(crate) kind: RecordKind,
    pub(crate) what: What,
    /// The active states afterwards.
    pub(crate) configuration: Vec<String>,
    pub(crate) changes: Vec<Change>,
    pub(crate) effects: Vec<Told>,
    pub(crate) status: Status,
    /// Whether this step brought the status.
    pub(crate) status_changed: bool,
    pub(crate) output: Value,
    /// Why the step could not be taken.
    pub(crate) refusal: Option<String>,
    /// Which transitions were looked at, and why; only when asked for.
    pub(crate) story: Vec<String>,
}

/// What a record is about.
#[derive(Clone, Debug)]
pub(crate) enum What {
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
pub(crate) struct Change {
    pub(crate) key: Arc<str>,
    /// `None`: there is no before.
    pub(crate) before: Option<Value>,
    pub(crate) after: Value,
}

/// An effect, with what only the snapshot beside it knows.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) effect: Effect,
    /// What a timer is for; `None` for what nobody wants to hear of.
    pub(crate) timer: Option<Timer>,
}

/// A pending timer in words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Timer {
    pub(crate) purpose: String,
    pub(crate) kind: TimerKind,
    pub(crate) due_ms: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimerKind {
    After,
    Send,
    Timeout,
    Retry,
}

impl TimerKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            TimerKind::After => "after",
            TimerKind::Send => "send",
            TimerKind::Timeout => "timeout",
            TimerKind::Retry => "retry",
        }
    }
}
