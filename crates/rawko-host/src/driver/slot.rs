//! `Slot`: one instance in memory with its mailbox. Only the holder of the lock hands in inputs, and only one commit is
//! in flight at a time.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rawko_instance::{Input, Instance, Receipt};
use rawko_store::InstanceKey;
use tokio::sync::oneshot;

use crate::error::HostError;

/// Maximum number of inputs waiting at one instance; more are refused, so that a runaway sender is noticed.
pub(crate) const MAILBOX_MAX: usize = 10_000;

pub(crate) type Reply = oneshot::Sender<Result<Receipt, HostError>>;

/// An input in a mailbox, and the caller that waits for its commit.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) input: Input,
    pub(crate) reply: Option<Reply>,
}

impl Delivery {
    pub(crate) fn unawaited(input: Input) -> Self {
        Self { input, reply: None }
    }
}

pub(crate) struct Slot {
    pub(crate) key: InstanceKey,
    pub(crate) id: Arc<str>,
    /// Its estimated memory as the table counts it; changed only under the table's lock.
    weight: AtomicUsize,
    live: Mutex<SlotState>,
}

pub(crate) struct SlotState {
    pub(crate) machine: Instance,
    pub(crate) mailbox: VecDeque<Delivery>,
    /// A commit is in flight; no other input is handled until it is done.
    pub(crate) committing: bool,
    /// The instance left memory: a sender that still holds the slot has to look it up again.
    pub(crate) evicted: bool,
    /// The deadline that is set for this instance.
    pub(crate) armed_ms: Option<i64>,
    /// The instance is queued for eviction.
    pub(crate) rests: bool,
}

impl Slot {
    /// Creates the slot of a committed instance.
    pub(crate) fn new(machine: Instance) -> Arc<Self> {
        Self::with(machine, false)
    }

    /// Creates the slot of an instance whose first commit is in flight.
    pub(crate) fn committing(machine: Instance) -> Arc<Self> {
        Self::with(machine, true)
    }

    fn with(machine: Instance, committing: bool) -> Arc<Self> {
        let (key, id) = (machine.key(), Arc::clone(machine.id()));
        let weight = AtomicUsize::new(machine.memory_bytes());
        let state = SlotState {
            machine,
            mailbox: VecDeque::new(),
            committing,
            evicted: false,
            armed_ms: None,
            rests: false,
        };
        Arc::new(Self { key, id, weight, live: Mutex::new(state) })
    }

    pub(crate) fn weight(&self) -> usize {
        self.weight.load(Ordering::Relaxed)
    }

    pub(super) fn set_weight(&self, bytes: usize) {
        self.weight.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, SlotState> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SlotState {
    /// Returns true if the instance can leave memory: its mailbox is empty and no commit is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.mailbox.is_empty() && !self.committing
    }
}
