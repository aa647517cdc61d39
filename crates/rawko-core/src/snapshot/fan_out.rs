//! `FanOut`: a running `invoke … each` — its list, the state of every item, and the join that decides when it is over.

use std::sync::Arc;

use super::Invocation;
use super::chunks::Chunks;
use crate::blueprint::{EachSpec, JoinRule};
use crate::ids::{InvokeId, NodeId};
use crate::value::Value;

/// The items of one visit to a state with an `each`.
#[derive(Clone, Debug, PartialEq)]
pub struct FanOut {
    /// From the same sequence as invocations and timers.
    pub id: u64,
    /// Invoke with the `each`.
    pub invoke: InvokeId,
    /// State whose visit started the items.
    pub node: NodeId,
    /// The invocation of item 0; the others follow.
    pub first: u64,
    /// `first` before a person retried it: attempts with an unknown outcome are found by it.
    pub earlier: Option<u64>,
    pub(crate) list: Arc<Vec<Value>>,
    pub(crate) items: Chunks<ItemState>,
    /// Every item before this one has started.
    pub(crate) next: u32,
    pub(crate) counts: ItemCounts,
}

/// The state of one item.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemState {
    /// Not started: `max_concurrent` items are running.
    Waiting,
    /// Running, or waiting for its next attempt.
    Running(Box<ItemAttempt>),
    /// Completed, with its output.
    Done(Value),
    /// Failed permanently, with the error of the last attempt.
    Failed(Value),
    /// Not needed any more.
    Stopped,
}

/// A started item.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemAttempt {
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Evaluated `src` of the item.
    pub src: Arc<str>,
    /// Evaluated input of the item.
    pub input: Value,
}

impl ItemState {
    /// Returns the word that views use.
    pub fn as_str(&self) -> &'static str {
        match self {
            ItemState::Waiting => "waiting",
            ItemState::Running(_) => "running",
            ItemState::Done(_) => "done",
            ItemState::Failed(_) => "error",
            ItemState::Stopped => "stopped",
        }
    }
}

/// The number of items in each state. Items that wait or were stopped are the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemCounts {
    /// Items that run or wait for their next attempt.
    pub running: u32,
    /// Completed items.
    pub done: u32,
    /// Items that failed permanently.
    pub failed: u32,
}

impl ItemCounts {
    fn of_mut(&mut self, state: &ItemState) -> Option<&mut u32> {
        match state {
            ItemState::Running(_) => Some(&mut self.running),
            ItemState::Done(_) => Some(&mut self.done),
            ItemState::Failed(_) => Some(&mut self.failed),
            ItemState::Waiting | ItemState::Stopped => None,
        }
    }
}

/// The decision of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JoinDecision {
    Pending,
    Met,
    /// It can no longer be met.
    Missed,
}

impl FanOut {
    pub(crate) fn new(id: u64, invoke: InvokeId, node: NodeId, first: u64, list: Arc<Vec<Value>>) -> Self {
        let items = Chunks::from_vec(vec![ItemState::Waiting; list.len()]);
        Self { id, invoke, node, first, earlier: None, list, items, next: 0, counts: ItemCounts::default() }
    }

    /// Restores one from its parts.
    pub(crate) fn with_items(mut self, items: Vec<ItemState>) -> Self {
        for state in &items {
            if let Some(count) = self.counts.of_mut(state) {
                *count += 1;
            }
        }
        self.items = Chunks::from_vec(items);
        self
    }

    /// Returns the number of items.
    #[allow(clippy::len_without_is_empty, reason = "an empty list is complete at once and never a fan-out")]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns how many items are in each state.
    pub fn counts(&self) -> ItemCounts {
        self.counts
    }

    /// Returns every item with its state, in input order.
    pub fn items(&self) -> impl Iterator<Item = (&Value, &ItemState)> {
        self.list.iter().zip(self.items.iter())
    }

    pub(crate) fn item(&self, index: u32) -> Value {
        self.list.get(index as usize).cloned().unwrap_or_default()
    }

    /// Returns the state of an item; [`ItemState::Stopped`] beyond the end of the list.
    pub fn state(&self, index: u32) -> &ItemState {
        self.items.get(index as usize).unwrap_or(&ItemState::Stopped)
    }

    pub(crate) fn set(&mut self, index: u32, state: ItemState) {
        if let Some(count) = self.items.get(index as usize).and_then(|old| self.counts.of_mut(old)) {
            *count = count.saturating_sub(1);
        }
        if let Some(count) = self.counts.of_mut(&state) {
            *count += 1;
        }
        self.items.set(index as usize, state);
    }

    /// Returns the item of an invocation, if it is one of this fan-out.
    pub fn index_of(&self, invocation: u64) -> Option<u32> {
        let index = invocation.checked_sub(self.first)?;
        (index < self.list.len() as u64).then_some(index as u32)
    }

    /// Returns the invocation of an item that runs or waits for its next attempt.
    pub fn invocation(&self, index: u32) -> Option<Invocation> {
        let ItemState::Running(attempt) = self.state(index) else { return None };
        Some(Invocation {
            id: self.first + u64::from(index),
            invoke: self.invoke,
            node: self.node,
            attempt: attempt.attempt,
            src: Arc::clone(&attempt.src),
            input: attempt.input.clone(),
            item: Some(index),
        })
    }

    /// Returns the items that run or wait for their next attempt, in input order.
    pub(crate) fn running(&self) -> impl Iterator<Item = u32> + '_ {
        let is_running = |(_, state): &(u32, &ItemState)| matches!(state, ItemState::Running(_));
        (0u32..).zip(self.items.iter()).filter(is_running).map(|(index, _)| index)
    }

    /// Returns the next item to start and skips those that have ended.
    pub(crate) fn next_waiting(&mut self) -> Option<u32> {
        while (self.next as usize) < self.list.len() {
            if matches!(self.state(self.next), ItemState::Waiting) {
                return Some(self.next);
            }
            self.next += 1;
        }
        None
    }

    pub(crate) fn verdict(&self, spec: &EachSpec) -> JoinDecision {
        let ItemCounts { done, failed, .. } = self.counts;
        let all = self.list.len() as u32;
        let (met, missed) = match spec.join {
            JoinRule::All if spec.on_item_error => (done + failed == all, false),
            JoinRule::All => (done == all, failed > 0),
            JoinRule::Settled => (done + failed == all, false),
            JoinRule::Any | JoinRule::AtLeast(_) => {
                let wanted = needed(spec.join);
                // A migration may bring a join that needs more than there are.
                (done >= wanted, failed.saturating_add(wanted) > all)
            }
        };
        match (met, missed) {
            (true, _) => JoinDecision::Met,
            (false, true) => JoinDecision::Missed,
            (false, false) => JoinDecision::Pending,
        }
    }

    /// Returns the data of the done event.
    pub(crate) fn outcome(&self, join: JoinRule) -> Value {
        match join {
            JoinRule::All => Value::list(self.items.iter().map(plain_result).collect()),
            JoinRule::Settled | JoinRule::AtLeast(_) => {
                Value::list(self.items.iter().map(settled_result).collect())
            }
            JoinRule::Any => {
                let found = (0u32..).zip(self.items.iter()).find_map(|(index, state)| match state {
                    ItemState::Done(data) => Some((index, data.clone())),
                    _ => None,
                });
                found.map_or(Value::Null, |(index, data)| self.about(index, "data", data))
            }
        }
    }

    /// Returns `{index, item, <key>}`.
    pub(crate) fn about(&self, index: u32, key: &'static str, value: Value) -> Value {
        Value::map([("index", Value::Int(i64::from(index))), ("item", self.item(index)), (key, value)])
    }

    /// Lets one item start again.
    pub(crate) fn wait_again(&mut self, index: u32) {
        self.set(index, ItemState::Waiting);
        self.next = self.next.min(index);
    }

    /// Prepares it to start one item again, and those that its failure stopped; others that failed stay so.
    pub(crate) fn again_with(mut self, first: u64, index: u32) -> Self {
        for at in 0..self.list.len() as u32 {
            if at == index || matches!(self.state(at), ItemState::Stopped) {
                self.set(at, ItemState::Waiting);
            }
        }
        Self { earlier: Some(self.first), first, next: 0, ..self }
    }

    /// Prepares it to start again what failed or was stopped; items that are done stay so.
    pub(crate) fn again(mut self, first: u64) -> Self {
        for index in 0..self.list.len() as u32 {
            if matches!(self.state(index), ItemState::Failed(_) | ItemState::Stopped) {
                self.set(index, ItemState::Waiting);
            }
        }
        Self { earlier: Some(self.first), first, next: 0, ..self }
    }
}

/// Returns the number of successes without which a join cannot be met, however many items there are.
pub(crate) fn needed(join: JoinRule) -> u32 {
    match join {
        JoinRule::All | JoinRule::Settled => 0,
        JoinRule::Any => 1,
        JoinRule::AtLeast(least) => least,
    }
}

fn plain_result(state: &ItemState) -> Value {
    match state {
        ItemState::Done(data) => data.clone(),
        ItemState::Waiting | ItemState::Running(_) | ItemState::Failed(_) | ItemState::Stopped => Value::Null,
    }
}

fn settled_result(state: &ItemState) -> Value {
    match state {
        ItemState::Done(data) => Value::map([("status", Value::str("done")), ("data", data.clone())]),
        ItemState::Failed(error) => Value::map([("status", Value::str("error")), ("error", error.clone())]),
        ItemState::Waiting | ItemState::Running(_) | ItemState::Stopped => {
            Value::map([("status", Value::str("stopped"))])
        }
    }
}
