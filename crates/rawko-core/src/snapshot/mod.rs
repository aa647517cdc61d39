//! `Snapshot`: the complete state of an instance — configuration, context, history, pending timers, running
//! invocations, step number. Parts that most instances lack are kept in one box, so that an idle one is small.

mod chunks;
mod delta;
mod fan_out;
mod fan_out_json;
mod json;
mod parts;

use std::sync::Arc;

pub use fan_out::{FanOut, ItemAttempt, ItemCounts, ItemState};
pub(crate) use fan_out::{Verdict, needed};
pub use json::SnapshotError;
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
    pub(crate) more: Option<Box<More>>,
}

/// The recorded nodes of each history node.
pub(crate) type History = Vec<(NodeId, Box<[NodeId]>)>;

/// The parts that only some instances have.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct More {
    pub(crate) input: Value,
    pub(crate) output: Value,
    pub(crate) history: History,
    pub(crate) timers: Vec<PendingTimer>,
    pub(crate) invocations: Vec<Invocation>,
    pub(crate) fan_outs: Vec<FanOut>,
    pub(crate) deferred: Vec<NamedEvent>,
    /// Non-empty while the status is `error`.
    pub(crate) failures: Vec<Failure>,
    /// The next id for a timer or an invocation; never reused in an instance.
    pub(crate) next_id: u64,
}

impl More {
    pub(crate) const NOTHING: More = More {
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
    pub id: u64,
    pub due_ms: i64,
    pub purpose: TimerPurpose,
}

/// The purpose of a timer.
#[derive(Clone, Debug, PartialEq)]
pub enum TimerPurpose {
    /// `after` of a state: the timer of that node with this index.
    After { node: NodeId, index: u32 },
    /// A delayed `send`, evaluated when it was sent.
    Send { target: Arc<str>, event: NamedEvent },
    /// The timeout of an invocation's attempt.
    InvokeTimeout { invocation: u64 },
    /// The next attempt of an invocation.
    InvokeRetry { invocation: u64 },
    /// More items of a fan-out, of which many could not start.
    EachContinue { fan_out: u64 },
}

/// An invoke whose state is active and whose result is pending.
#[derive(Clone, Debug, PartialEq)]
pub struct Invocation {
    pub id: u64,
    pub invoke: InvokeId,
    pub node: NodeId,
    pub attempt: u32,
    pub src: Arc<str>,
    pub input: Value,
    /// The index of the item of an `each`.
    pub item: Option<u32>,
}

/// Failed work that nothing in the chart handles.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub work: FailedWork,
    pub error: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FailedWork {
    /// Attempt 0: `src` or `input` could not be evaluated, so there was no attempt.
    Invocation(Invocation),
    /// An `each` whose join can no longer be met, with the results of the other items.
    FanOut(Box<FanOut>),
    /// The `after` of a node with this index: its delay could not be evaluated.
    Timer { node: NodeId, index: u32 },
}

impl Failure {
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
    pub fn step_number(&self) -> u64 {
        self.step
    }

    pub fn status(&self) -> Status {
        self.status
    }

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
    pub fn failure(&self) -> Option<&Failure> {
        self.failures().first()
    }

    pub fn failures(&self) -> &[Failure] {
        self.more.as_ref().map_or(&[], |more| &more.failures)
    }

    /// Returns the events that wait for a state that handles them (`unhandled: defer`).
    pub fn deferred(&self) -> &[NamedEvent] {
        self.more.as_ref().map_or(&[], |more| &more.deferred)
    }
}

impl Recorded for Option<Box<More>> {
    fn recorded(&self, history: NodeId) -> Option<&[NodeId]> {
        let more = self.as_ref()?;
        more.history.iter().find(|(node, _)| *node == history).map(|(_, nodes)| &nodes[..])
    }
}
