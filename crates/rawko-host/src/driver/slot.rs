//! `Slot`: one instance in memory with its mailbox. Only the holder of the lock hands in inputs, and only one commit is
//! on its way at a time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rawko_instance::{Input, Instance, Receipt};
use rawko_store::InstanceKey;
use tokio::sync::oneshot;

use crate::error::HostError;

/// Inputs waiting at one instance; more are refused, so that a runaway sender is noticed.
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
    live: Mutex<SlotState>,
}

pub(crate) struct SlotState {
    pub(crate) machine: Instance,
    pub(crate) mailbox: VecDeque<Delivery>,
    /// A commit is on its way; until it is done nothing else is taken.
    pub(crate) committing: bool,
    /// It left memory: a poster that still holds the slot has to look it up again.
    pub(crate) evicted: bool,
    /// The deadline that is set for it.
    pub(crate) armed_ms: Option<i64>,
    /// It is queued for eviction.
    pub(crate) rests: bool,
}

impl Slot {
    /// A committed instance.
    pub(crate) fn new(machine: Instance) -> Arc<Self> {
        Self::with(machine, false)
    }

    /// An instance whose first commit is on its way.
    pub(crate) fn committing(machine: Instance) -> Arc<Self> {
        Self::with(machine, true)
    }

    fn with(machine: Instance, committing: bool) -> Arc<Self> {
        let (key, id) = (machine.key(), Arc::clone(machine.id()));
        let state = SlotState {
            machine,
            mailbox: VecDeque::new(),
            committing,
            evicted: false,
            armed_ms: None,
            rests: false,
        };
        Arc::new(Self { key, id, live: Mutex::new(state) })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, SlotState> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SlotState {
    /// Nothing waits and nothing is being written: it can leave memory.
    pub(crate) fn is_idle(&self) -> bool {
        self.mailbox.is_empty() && !self.committing
    }
}
