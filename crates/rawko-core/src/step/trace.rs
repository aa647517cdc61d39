//! `Trace`: what a step did and why, for `simulate -v`, logs and the page. Node and transition ids only; words are
//! put to them by whoever shows them.

use std::sync::Arc;

use crate::expr::EvalError;
use crate::ids::{LabelId, NodeId, Slot, TransitionId};
use crate::value::Value;

/// The story of one macrostep, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    pub entries: Vec<TraceEntry>,
}

/// Small, because a step writes dozens: what is long and rare is boxed.
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
    Retrying(Box<Retrying>),
}

/// 24 bytes for the value; what else there is to say must fit beside it.
const _: () = assert!(size_of::<TraceEntry>() <= 32);

/// A failed attempt of an invocation, and when the next one is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retrying {
    pub id: Arc<str>,
    pub attempt: u32,
    pub delay_ms: u64,
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
    GuardFailed(Box<EvalError>),
    /// Another transition leaves what this one would leave, and goes first.
    Preempted {
        by: TransitionId,
    },
}
