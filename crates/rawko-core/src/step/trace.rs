//! `Trace`: the record of a step and its reasons, for `simulate -v`, logs and the page. Contains node and transition
//! ids only; text is added for display.

use std::sync::Arc;

use crate::expr::EvalError;
use crate::ids::{LabelId, NodeId, Slot, TransitionId};
use crate::value::Value;

/// The entries of one macrostep, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    pub entries: Vec<TraceEntry>,
}

/// Small, because a step writes dozens: long and rare entries are boxed.
#[derive(Clone, Debug, PartialEq)]
pub enum TraceEntry {
    /// An event is being processed: the delivered one, then each raised one. `None` for eventless transitions.
    Considered {
        event: Option<Arc<str>>,
    },
    /// A candidate transition and the decision on it.
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
    /// An action ran; `Chart::label` names it.
    Acted {
        label: LabelId,
    },
    /// A key of the context was written. An assign is traced by its keys: the first one carries the label of the action
    /// (two entries for every counter would make the trace the larger half of a step).
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
    /// An invoke failed permanently and nothing handles it: the instance waits for intervention.
    Stalled {
        id: Arc<str>,
    },
    /// A timer or a result of an earlier visit arrived and changed nothing.
    Stale,
    /// An attempt of an invocation failed and will be tried again.
    Retrying(Box<Retrying>),
}

/// 24 bytes for the value; the rest must fit beside it.
const _: () = assert!(size_of::<TraceEntry>() <= 32);

/// A failed attempt of an invocation, and the time of the next one.
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

/// The reason why a candidate was not taken.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// The guard evaluated to false.
    GuardFalse,
    GuardFailed(Box<EvalError>),
    /// Another transition with an overlapping exit set takes precedence.
    Preempted {
        by: TransitionId,
    },
}
