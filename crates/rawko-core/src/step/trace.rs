//! `MacrostepTrace`: the record of a step and its reasons, for `simulate -v`, logs and the page. Contains node and transition
//! ids only; text is added for display.

use std::sync::Arc;

use crate::expr::EvalError;
use crate::ids::{LabelId, NodeId, Slot, TransitionId};
use crate::value::Value;

/// The entries of one macrostep, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MacrostepTrace {
    /// Entries in the order in which the step produced them.
    pub entries: Vec<TraceEntry>,
}

/// Small, because a step writes dozens: long and rare entries are boxed.
#[derive(Clone, Debug, PartialEq)]
pub enum TraceEntry {
    /// An event is being processed: the delivered one, then each raised one. `None` for eventless transitions.
    Considered {
        /// Event name; `None` for eventless transitions.
        event: Option<Arc<str>>,
    },
    /// A candidate transition and the decision on it.
    Candidate {
        /// The candidate.
        transition: TransitionId,
        /// Whether it was taken.
        outcome: CandidateOutcome,
    },
    /// No transition took the event.
    Unhandled {
        /// Event name.
        event: Arc<str>,
        /// True if the event was queued for later (`unhandled: defer`).
        deferred: bool,
    },
    /// A state was exited.
    Exited {
        /// The exited state.
        node: NodeId,
    },
    /// A state was entered.
    Entered {
        /// The entered state.
        node: NodeId,
    },
    /// An action ran; `Chart::label` names it.
    Acted {
        /// Label of the action.
        label: LabelId,
    },
    /// A key of the context was written. An assign is traced by its keys: the first one carries the label of the action
    /// (two entries for every counter would make the trace the larger half of a step).
    Assigned {
        /// The written key.
        slot: Slot,
        /// Its new value.
        value: Value,
        /// Label of the assign action, on its first key only.
        action: Option<LabelId>,
    },
    /// An event was added to the internal queue.
    Raised {
        /// Event name.
        event: Arc<str>,
    },
    /// An expression failed; `error.execution` was raised.
    Failed {
        /// Message of the evaluation error.
        message: String,
    },
    /// An invoke failed permanently and nothing handles it: the instance waits for intervention.
    Stalled {
        /// Id of the failed invoke, or `after.<path>`.
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
    /// Invoke id.
    pub id: Arc<str>,
    /// Number of the failed attempt, from 1.
    pub attempt: u32,
    /// Delay before the next attempt, in milliseconds.
    pub delay_ms: u64,
}

/// The decision on a candidate transition.
#[derive(Clone, Debug, PartialEq)]
pub enum CandidateOutcome {
    /// The transition was taken.
    Taken,
    /// The transition was not taken, for this reason.
    Refused(CandidateRefusal),
}

/// The reason why a candidate was not taken.
#[derive(Clone, Debug, PartialEq)]
pub enum CandidateRefusal {
    /// The guard evaluated to false.
    GuardFalse,
    /// The guard could not be evaluated.
    GuardFailed(Box<EvalError>),
    /// Another transition with an overlapping exit set takes precedence.
    Preempted {
        /// The transition that takes precedence.
        by: TransitionId,
    },
}
