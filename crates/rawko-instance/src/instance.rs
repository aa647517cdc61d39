//! `Instance`: one running chart as a pure machine — snapshot, open effects, budgets, policy. This file has the state
//! and its restore and save; `input` and `effects` change it.

use std::sync::Arc;

use rawko_core::expr::ListSizes;
use rawko_core::{Chart, FailedWork, ItemState, NodeId, Snapshot, Status, Value};
use serde::{Deserialize, Serialize};

use crate::content::{InputHasher, PackedLists};
use crate::effects::child::child_id;
use crate::error::InstanceError;
use crate::ledger::Ledger;
use crate::message::MessageChain;
use crate::open::OpenEffects;
use crate::policy::{agent_of, policy_from};
use crate::receipt::Receipt;
use crate::records::{EffectKind, Head, InstanceKey, NewInstance, OpenEffect};

/// Memory of an instance without its context.
const EMPTY_BYTES: usize = 4 * 1024;
/// Memory of a value for each byte of its JSON: small values dominate.
const BYTES_PER_TEXT_BYTE: usize = 3;
/// A change of this length is likely to add a value.
const LARGE_CHANGE_BYTES: usize = 1_024;

/// One instance between two inputs. Cloning it is cheap enough to keep the state before a commit that may fail.
#[derive(Clone, Debug)]
pub struct Instance {
    pub(crate) key: InstanceKey,
    pub(crate) chart: Arc<Chart>,
    pub(crate) snapshot: Snapshot,
    pub(crate) new: Arc<NewInstance>,
    pub(crate) parent: Option<InstanceKey>,
    /// As committed last; [`Instance::head_now`] is the current one.
    pub(crate) head: Head,
    /// Why the instance rests, if it does. Not the committed one: a change must be noticed at the end of a transaction.
    pub(crate) fault: Option<Arc<str>>,
    pub(crate) open: OpenEffects,
    /// Rules and budget given by the invoking instance or the starter; null if there are none.
    pub(crate) policy: Value,
    pub(crate) ledger: Ledger,
    /// Service calls so far, for the gate's budget.
    pub(crate) calls: u64,
    /// The time of the last step: time never goes back within an instance, even if the clock does.
    pub(crate) last_ms: i64,
    pub(crate) snapshot_bytes: usize,
    pub(crate) delta_bytes: usize,
    /// Length of the last snapshot as JSON with its large values, and of large changes since, to estimate the memory.
    pub(crate) text_bytes: usize,
    pub(crate) pace: Pace,
    /// The failed invocations of a retry in progress: a key is kept if the outcome is unknown.
    pub(crate) retrying: Vec<u64>,
    /// The last driver start that this machine has handled.
    pub(crate) restarted: Option<u64>,
    /// Long lists in inputs of calls, as they were packed last.
    pub(crate) lists: PackedLists,
    /// The hash of the last input with a long list.
    pub(crate) inputs: InputHasher,
    /// Sizes of long lists, as expressions measured them last.
    pub(crate) sizes: Arc<ListSizes>,
}

/// The rate of self-caused steps. A driver that loads the instance for every input stores it; one that keeps instances
/// in memory need not, because its restart takes longer than the time window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pace {
    /// Steps since the last external cause or the last time that passed.
    pub(crate) zero_delay_steps: u32,
    /// Failed calls since the last success, external cause, or time that passed.
    pub(crate) failed_calls: u32,
    /// The second of the last started children, and their number.
    pub(crate) children_second: i64,
    pub(crate) children: u32,
    /// The messages that led to the current state.
    #[serde(skip_serializing_if = "MessageChain::is_empty")]
    pub(crate) chain: MessageChain,
}

impl Pace {
    /// Returns true if nothing was counted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Something from outside or the passing of time moves the instance: it is no runaway loop.
    pub(crate) fn restart(&mut self) {
        (self.zero_delay_steps, self.failed_calls) = (0, 0);
        self.chain = MessageChain::default();
    }
}

/// The data that a driver keeps of an instance between two inputs, beside its snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedInstance {
    /// Key of the instance within its store.
    pub key: InstanceKey,
    /// Identity, chart and origin.
    pub new: NewInstance,
    /// Key of the invoking instance.
    pub parent: Option<InstanceKey>,
    /// Status as lists show it.
    pub head: Head,
    /// Effects without a result.
    pub open: Vec<OpenEffect>,
    /// Service calls so far.
    pub calls: u64,
    /// The time of the last step.
    pub last_ms: i64,
    /// Bytes of the last committed snapshot, and of the changes since.
    pub snapshot_bytes: usize,
    /// Bytes of the changes since that snapshot.
    pub delta_bytes: usize,
    /// Counts against runaway loops.
    pub pace: Pace,
}

impl Instance {
    /// Continues a saved instance. `snapshot` is the one after its last committed step.
    pub fn restore(saved: SavedInstance, chart: Arc<Chart>, snapshot: Snapshot) -> Self {
        let SavedInstance { key, new, parent, head, open, calls, last_ms, snapshot_bytes, delta_bytes, pace } =
            saved;
        Self {
            key,
            chart,
            snapshot,
            parent,
            policy: policy_from(&new.policy),
            ledger: Ledger::read(head.ledger.as_deref()),
            new: Arc::new(new),
            fault: head.fault.clone(),
            head,
            open: open.into(),
            calls,
            last_ms,
            snapshot_bytes,
            delta_bytes,
            text_bytes: snapshot_bytes,
            pace,
            retrying: Vec::new(),
            restarted: None,
            lists: PackedLists::default(),
            inputs: InputHasher::default(),
            sizes: Arc::default(),
        }
    }

    /// Like `restore`, from unpacked JSON text.
    pub fn restore_json(
        saved: SavedInstance,
        chart: Arc<Chart>,
        snapshot: &str,
    ) -> Result<Self, InstanceError> {
        let snapshot = Snapshot::from_json(&chart, snapshot)
            .map_err(|why| InstanceError::Snapshot { id: saved.new.id.to_string(), why })?;
        Ok(Self::restore(saved, chart, snapshot))
    }

    /// Returns the data to keep until the next input, beside [`Instance::snapshot`].
    pub fn save(&self) -> SavedInstance {
        SavedInstance {
            key: self.key,
            new: (*self.new).clone(),
            parent: self.parent,
            head: self.head.clone(),
            open: self.open.to_vec(),
            calls: self.calls,
            last_ms: self.last_ms,
            snapshot_bytes: self.snapshot_bytes,
            delta_bytes: self.delta_bytes,
            pace: self.pace,
        }
    }

    /// Sets the lengths of the snapshot and of the changes since, as JSON with their large values, for
    /// [`Instance::memory_bytes`].
    #[must_use]
    pub fn with_text_bytes(mut self, snapshot: usize, changes: impl IntoIterator<Item = usize>) -> Self {
        self.text_bytes = snapshot;
        changes.into_iter().for_each(|bytes| self.note_change(bytes));
        self
    }

    /// Counts a change. Most small ones replace a value; the others count with the next snapshot.
    pub(crate) fn note_change(&mut self, bytes: usize) {
        if bytes >= LARGE_CHANGE_BYTES {
            self.text_bytes += bytes;
        }
    }

    /// Estimates the memory that the instance takes, for drivers that keep many of them.
    pub fn memory_bytes(&self) -> usize {
        EMPTY_BYTES + self.text_bytes.saturating_mul(BYTES_PER_TEXT_BYTE)
    }

    /// Returns the key of the instance within its store.
    pub fn key(&self) -> InstanceKey {
        self.key
    }

    /// Returns the instance id that people see.
    pub fn id(&self) -> &Arc<str> {
        &self.new.id
    }

    /// Returns the start parameters.
    pub fn new_instance(&self) -> &Arc<NewInstance> {
        &self.new
    }

    /// Returns the key of the invoking instance; `None` for a root.
    pub fn parent(&self) -> Option<InstanceKey> {
        self.parent
    }

    /// Returns the chart the instance runs on now.
    pub fn chart(&self) -> &Arc<Chart> {
        &self.chart
    }

    /// Returns the state of the chart.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Returns the snapshot as versioned JSON.
    pub fn snapshot_json(&self) -> String {
        self.snapshot.to_json(&self.chart)
    }

    /// Returns the status as lists show it.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Returns the effects without a result.
    pub fn open_effects(&self) -> &OpenEffects {
        &self.open
    }

    /// Returns the usage so far.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns the agent that it implements, if any.
    pub fn agent(&self) -> Option<&str> {
        agent_of(&self.policy)
    }

    /// Returns the number of steps taken, counting the start.
    pub fn step(&self) -> u64 {
        self.snapshot.step_number()
    }

    /// Returns the ids of its running children.
    pub fn children(&self) -> Vec<Arc<str>> {
        // One that could not start has a result already, and no instance.
        let is_child = |effect: &&OpenEffect| effect.kind == EffectKind::Child && effect.result.is_empty();
        let children = self.open.iter().filter(is_child);
        children.map(|effect| child_id(&self.new.id, effect)).collect()
    }

    /// Returns the receipt for an input; `handled` is true if a transition took it.
    pub fn receipt(&self, handled: bool) -> Receipt {
        Receipt {
            instance: Arc::clone(&self.new.id),
            step: self.snapshot.step_number(),
            handled,
            queued: false,
            status: self.snapshot.status(),
        }
    }

    /// Checks if it failed, or is paused after a fault, so that a retry applies.
    pub fn can_retry(&self) -> Result<(), InstanceError> {
        if self.snapshot.status() == Status::Error || self.fault.is_some() {
            return Ok(());
        }
        Err(InstanceError::NotFailed { id: self.new.id.to_string() })
    }

    /// Returns the open effect at this position; an effect with an unknown outcome is no longer awaited.
    pub fn open_effect(&self, step: u64, index: u32) -> Option<&OpenEffect> {
        self.open_at(step, index).map(|at| &self.open[at])
    }

    pub(crate) fn open_at(&self, step: u64, index: u32) -> Option<usize> {
        self.open.at_place(step, index)
    }

    pub(crate) fn open_invocation(&self, invocation: u64) -> Option<usize> {
        self.open.of_invocation(invocation)
    }

    /// Returns true if the chart still waits for an invocation, or failed with it and may retry it.
    pub(crate) fn needs_key(&self, invocation: u64) -> bool {
        let mut failed = self.snapshot.failures().iter().filter_map(|failure| failure.invocation());
        let failed = failed.any(|failed| failed.id == invocation);
        failed
            || self.is_item_of_failure(invocation)
            || self.snapshot.invocation(invocation).is_some()
            || self.is_failed_item(invocation)
    }

    /// Returns true for a failed item of an `each` that still runs: a person may retry it.
    fn is_failed_item(&self, invocation: u64) -> bool {
        let items = self.snapshot.fan_outs().iter();
        let mut found = items.filter_map(|fan_out| Some(fan_out.state(fan_out.index_of(invocation)?)));
        found.any(|state| matches!(state, ItemState::Failed(_)))
    }

    /// Returns true for an item of a failed `each`, whose stopped items a person may start again.
    fn is_item_of_failure(&self, invocation: u64) -> bool {
        self.snapshot.failures().iter().any(|failure| match &failure.work {
            FailedWork::FanOut(fan_out) => fan_out.index_of(invocation).is_some(),
            FailedWork::Invocation(_) | FailedWork::Timer { .. } => false,
        })
    }

    /// Returns the invocation that an item of an `each` had before a person retried the whole.
    pub(crate) fn earlier_invocation(&self, invocation: u64) -> Option<u64> {
        let mut all = self.snapshot.fan_outs().iter();
        all.find_map(|fan_out| Some(fan_out.earlier? + u64::from(fan_out.index_of(invocation)?)))
    }

    /// Returns the state that an invocation belongs to.
    pub(crate) fn node_of(&self, invocation: Option<u64>) -> Option<NodeId> {
        self.snapshot.invocation(invocation?).map(|known| known.node)
    }
}
