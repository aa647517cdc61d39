//! `Trace`: what a step did and why, for `simulate -v`, logs and the page. Node and transition ids only; words are
//! put to them by whoever shows them.

use std::sync::Arc;

use crate::ids::{LabelId, NodeId, Slot, TransitionId};
use crate::value::Value;

/// The story of one macrostep, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    pub entries: Vec<TraceEntry>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TraceEntry {
    /// An event is being looked at: the delivered one, then each raised one. `None`: eventless transitions.
    Considered {
        event: Option<Arc<str>>,
    },
    /// A candidate transition and what became of it.
    Candidate {
        transition: TransitionId,
        outcome: Outcome,
    },
    /// No transition took the event.
    Unhandled {
        event: Arc<str>,
        deferred: bool,
    },
    Exited {
        node: NodeId,
    },
    Entered {
        node: NodeId,
    },
    /// An action ran; `Chart::label` says which.
    Acted {
        label: LabelId,
    },
    /// A key of the context was written. An assign is told by its keys: the first one carries what the action is
    /// called (two entries for every counter would make the trace the larger half of a step).
    Assigned {
        slot: Slot,
        value: Value,
        action: Option<LabelId>,
    },
    Raised {
        event: Arc<str>,
    },
    /// An expression failed; `error.execution` was raised.
    Failed {
        message: String,
    },
    /// An invoke failed for good and nothing handles it: the instance waits for somebody.
    Stalled {
        id: Arc<str>,
    },
    /// A timer or a result of an earlier visit arrived and changed nothing.
    Stale,
    /// An attempt of an invocation failed and will be tried again.
    Retrying {
        id: Arc<str>,
        attempt: u32,
        delay_ms: u64,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Taken,
    Refused(Refusal),
}

/// Why a candidate was not taken.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Its guard gave this.
    GuardFalse,
    GuardFailed(String),
    /// Another transition leaves what this one would leave, and goes first.
    Preempted {
        by: TransitionId,
    },
}
