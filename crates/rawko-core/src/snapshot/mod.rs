//! `Snapshot`: the complete state of an instance — configuration, context, history, pending timers, running
//! invocations, step number. Parts that most instances lack are kept in one box, so that an idle one is small.

mod chunks;
mod delta;
mod error;
mod fan_out;
mod fan_out_json;
mod json;
mod parts;

use std::sync::Arc;

pub use error::SnapshotError;
pub use fan_out::{FanOut, ItemAttempt, ItemCounts, ItemState};
pub(crate) use fan_out::{JoinDecision, needed};
pub use parts::SnapshotParts;
use serde::{Deserialize, Serialize};

use crate::chart::Chart;
use crate::configuration::Configuration;
use crate::entry_set::Recorded;
use crate::event::NamedEvent;
use crate::ids::{InvokeId, NodeId};
use crate::value::Value;

/// The status of an instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Takes events.
    #[default]
    Active,
    /// A top-level final state was reached.
    Done,
    /// An invoke failed or an `after` could not be set, and nothing handles it. No state is lost: `retry`, `send` or
    /// `cancel` continue from here.
    Error,
    /// Ended by a cancel request.
    Cancelled,
}

impl Status {
    /// Returns true if events can no longer change anything.
    pub fn is_over(self) -> bool {
        matches!(self, Status::Done | Status::Cancelled)
    }

    /// Returns the name used in snapshots and the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Active => "active",
            Status::Done => "done",
            Status::Error => "error",
            Status::Cancelled => "cancelled",
        }
    }
}

/// A resting instance between two steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    pub(crate) chart: [u8; 16],
    pub(crate) step: u64,
    pub(crate) status: Status,
    pub(crate) configuration: Configuration,
    pub(crate) context: Box<[Value]>,
    pub(crate) more: Option<Box<RareParts>>,
}

/// The recorded nodes of each history node.
pub(crate) type RecordedHistory = Vec<(NodeId, Box<[NodeId]>)>;

/// The parts that only some instances have.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RareParts {
    pub(crate) input: Value,
    pub(crate) output: Value,
    pub(crate) history: RecordedHistory,
    pub(crate) timers: Vec<PendingTimer>,
    pub(crate) invocations: Vec<Invocation>,
    pub(crate) fan_outs: Vec<FanOut>,
    pub(crate) deferred: Vec<NamedEvent>,
    /// Non-empty while the status is `error`.
    pub(crate) failures: Vec<UnhandledFailure>,
    /// The next id for a timer or an invocation; never reused in an instance.
    pub(crate) next_id: u64,
}

impl RareParts {
    pub(crate) const NOTHING: RareParts = RareParts {
        input: Value::Null,
        output: Value::Null,
        history: Vec::new(),
        timers: Vec::new(),
        invocations: Vec::new(),
        fan_outs: Vec::new(),
        deferred: Vec::new(),
        failures: Vec::new(),
        next_id: 0,
    };
}

/// A timer that has been set and is not due yet.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingTimer {
    /// Timer id, unique within the instance.
    pub id: u64,
    /// Due time in milliseconds since the Unix epoch.
    pub due_ms: i64,
    /// Action of the engine when the timer fires.
    pub purpose: TimerPurpose,
}

/// The purpose of a timer.
#[derive(Clone, Debug, PartialEq)]
pub enum TimerPurpose {
    /// `after` of a state: the timer of that node with this index.
    After {
        /// State with the `after`.
        node: NodeId,
        /// Position among the timers of the state.
        index: u32,
    },
    /// A delayed `send`, evaluated when it was sent.
    Send {
        /// Target in the author's syntax.
        target: Arc<str>,
        /// Event to deliver.
        event: NamedEvent,
    },
    /// The timeout of an invocation's attempt.
    InvokeTimeout {
        /// Invocation that fails unless it returns first.
        invocation: u64,
    },
    /// The next attempt of an invocation.
    InvokeRetry {
        /// Invocation to start again.
        invocation: u64,
    },
    /// More items of a fan-out, of which many could not start.
    EachContinue {
        /// Fan-out that continues.
        fan_out: u64,
    },
}

/// An invoke whose state is active and whose result is pending.
#[derive(Clone, Debug, PartialEq)]
pub struct Invocation {
    /// Invocation id, unique within the instance.
    pub id: u64,
    /// Invoke of the chart.
    pub invoke: InvokeId,
    /// State whose visit started it.
    pub node: NodeId,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Evaluated `src`.
    pub src: Arc<str>,
    /// Evaluated input, the same for all attempts.
    pub input: Value,
    /// The index of the item of an `each`.
    pub item: Option<u32>,
}

/// Failed work that nothing in the chart handles.
#[derive(Clone, Debug, PartialEq)]
pub struct UnhandledFailure {
    /// The part that failed and can be retried.
    pub work: FailedWork,
    /// Error with `category`, `code` and `message`.
    pub error: Value,
}

/// The part of an instance that failed.
#[derive(Clone, Debug, PartialEq)]
pub enum FailedWork {
    /// Attempt 0: `src` or `input` could not be evaluated, so there was no attempt.
    Invocation(Invocation),
    /// An `each` whose join can no longer be met, with the results of the other items.
    FanOut(Box<FanOut>),
    /// The `after` of a node with this index: its delay could not be evaluated.
    Timer {
        /// State with the `after`.
        node: NodeId,
        /// Position among the timers of the state.
        index: u32,
    },
}

impl UnhandledFailure {
    /// Returns the failed invocation, if it was one.
    pub fn invocation(&self) -> Option<&Invocation> {
        match &self.work {
            FailedWork::Invocation(invocation) => Some(invocation),
            FailedWork::FanOut(_) | FailedWork::Timer { .. } => None,
        }
    }

    pub(crate) fn node(&self) -> NodeId {
        match &self.work {
            FailedWork::Invocation(invocation) => invocation.node,
            FailedWork::FanOut(fan_out) => fan_out.node,
            FailedWork::Timer { node, .. } => *node,
        }
    }
}

impl Snapshot {
    /// Returns the number of steps taken, counting the start.
    pub fn step_number(&self) -> u64 {
        self.step
    }

    /// Returns the status of the instance.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Returns the active states.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Returns the context's values, in the order of [`Chart::context_names`].
    pub fn context(&self) -> &[Value] {
        &self.context
    }

    /// Replaces one value of the context by a more general one, for an exploration with unknown data.
    pub fn generalize(&mut self, slot: crate::ids::Slot, value: Value) {
        if let Some(old) = self.context.get_mut(slot.index()) {
            *old = value;
        }
    }

    /// Returns the context as a map. Keys that no `context:` declares appear once they have a value.
    pub fn context_map(&self, chart: &Chart) -> Value {
        Value::map(self.context_entries(chart).map(|(name, value)| (Arc::clone(name), value.clone())))
    }

    pub(crate) fn context_entries<'a>(
        &'a self,
        chart: &'a Chart,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Value)> + 'a {
        chart
            .context_names
            .iter()
            .zip(self.context.iter())
            .zip(chart.context_declared.iter())
            .filter(|((_, value), declared)| **declared || !value.is_null())
            .map(|(entry, _)| entry)
    }

    /// Returns the input given at start; null if there was none.
    pub fn input(&self) -> &Value {
        self.more.as_ref().map_or(&Value::NULL, |more| &more.input)
    }

    /// Returns the output of the top-level final state, once the instance is done.
    pub fn output(&self) -> &Value {
        self.more.as_ref().map_or(&Value::NULL, |more| &more.output)
    }

    /// Returns the pending timers in the order they were set.
    pub fn timers(&self) -> &[PendingTimer] {
        self.more.as_ref().map_or(&[], |more| &more.timers)
    }

    /// Returns the timer that is due next; among equals, the one set first.
    pub fn next_timer(&self) -> Option<&PendingTimer> {
        self.timers().iter().min_by_key(|timer| (timer.due_ms, timer.id))
    }

    /// Returns the recorded states of each history state that has a record.
    pub fn history(&self) -> impl Iterator<Item = (NodeId, &[NodeId])> {
        self.more.iter().flat_map(|more| more.history.iter().map(|(node, states)| (*node, &states[..])))
    }

    /// Returns the invocations without the items of an `each`.
    pub fn invocations(&self) -> &[Invocation] {
        self.more.as_ref().map_or(&[], |more| &more.invocations)
    }

    /// Returns the running `each` invokes.
    pub fn fan_outs(&self) -> &[FanOut] {
        self.more.as_ref().map_or(&[], |more| &more.fan_outs)
    }

    /// Returns every invocation whose result is pending, items of an `each` included.
    pub fn pending(&self) -> impl Iterator<Item = Invocation> + '_ {
        let items = self.fan_outs().iter();
        let items = items.flat_map(|fan_out| fan_out.running().filter_map(|index| fan_out.invocation(index)));
        self.invocations().iter().cloned().chain(items)
    }

    /// Returns a pending invocation by its id.
    pub fn invocation(&self, id: u64) -> Option<Invocation> {
        let plain = self.invocations().iter().find(|known| known.id == id).cloned();
        plain.or_else(|| self.fan_outs().iter().find_map(|known| known.invocation(known.index_of(id)?)))
    }

    /// Returns the first failure that stalls the instance.
    pub fn failure(&self) -> Option<&UnhandledFailure> {
        self.failures().first()
    }

    /// Returns failed work that waits for a retry or a cancellation.
    pub fn failures(&self) -> &[UnhandledFailure] {
        self.more.as_ref().map_or(&[], |more| &more.failures)
    }

    /// Returns the events that wait for a state that handles them (`unhandled: defer`).
    pub fn deferred(&self) -> &[NamedEvent] {
        self.more.as_ref().map_or(&[], |more| &more.deferred)
    }
}

impl Recorded for Option<Box<RareParts>> {
    fn recorded(&self, history: NodeId) -> Option<&[NodeId]> {
        let more = self.as_ref()?;
        more.history.iter().find(|(node, _)| *node == history).map(|(_, nodes)| &nodes[..])
    }
}
