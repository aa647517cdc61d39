//! One instance in memory: its snapshot, its mailbox, and the effects that are under way for it. Only the holder of
//! the lock writes, and only one commit is on its way at a time.

pub(crate) mod delivery;
pub(crate) mod drive;
pub(crate) mod plan;
mod take;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rawko_core::{Chart, Snapshot, Status, Value};
use rawko_store::{EffectKind, Head, InstanceKey, NewInstance, OpenEffect, Wait};

use crate::error::HostError;
use crate::ledger::Ledger;
use delivery::Delivery;
pub use delivery::{EffectNote, Letter, Receipt};
pub(crate) use take::{save_snapshot, waits_for};

/// Events waiting at one instance; more are refused, so that a runaway sender is heard of.
pub(crate) const MAILBOX_MAX: usize = 10_000;

/// A place for a living instance. Whoever has it may post; the lock decides who writes.
pub(crate) struct Slot {
    pub(crate) key: InstanceKey,
    pub(crate) id: Arc<str>,
    live: Mutex<Live>,
}

impl Slot {
    pub(crate) fn new(key: InstanceKey, live: Live) -> Arc<Self> {
        Arc::new(Self { key, id: Arc::clone(&live.new.id), live: Mutex::new(live) })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For who holds the only one.
    pub(crate) fn into_live(self) -> Live {
        self.live.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of an instance while it is in memory.
pub(crate) struct Live {
    pub(crate) chart: Arc<Chart>,
    pub(crate) snapshot: Snapshot,
    pub(crate) new: Arc<NewInstance>,
    pub(crate) parent: Option<InstanceKey>,
    pub(crate) head: Head,
    pub(crate) open: Vec<OpenEffect>,
    pub(crate) mailbox: VecDeque<Delivery>,
    /// A commit is on its way; until it is done nothing else is taken.
    pub(crate) committing: bool,
    /// It left memory: a poster who still holds the slot has to look it up again.
    pub(crate) evicted: bool,
    /// The deadline that is set for its next timer.
    pub(crate) armed_ms: Option<i64>,
    /// It stands in the queue of those that rest.
    pub(crate) rests: bool,
    /// The time of the last step: time never goes back within an instance, whatever the clock does.
    pub(crate) last_ms: i64,
    pub(crate) snapshot_bytes: usize,
    pub(crate) delta_bytes: usize,
    /// Calls of services so far, for the budget.
    pub(crate) calls: u64,
    /// What whoever invoked it allows; null when nobody said anything.
    pub(crate) policy: Value,
    pub(crate) ledger: Ledger,
}

/// The policy of an instance as it is stored.
pub(crate) fn policy_of(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { serde_json::from_str(text).unwrap_or_default() }
}

impl Live {
    /// Nothing waits and nothing is being written: it can leave memory.
    pub(crate) fn is_idle(&self) -> bool {
        self.mailbox.is_empty() && !self.committing
    }

    /// The head as the snapshot and the open effects have it now.
    pub(crate) fn head_now(&self) -> Head {
        let status = self.snapshot.status();
        let over = status.is_over();
        let next_due_ms = self.snapshot.next_timer().filter(|_| !over).map(|timer| timer.due_ms);
        Head {
            status,
            wait: self.wait(next_due_ms),
            next_due_ms,
            fault: self.head.fault.clone(),
            ledger: self.ledger.write(),
            outcome: None,
        }
    }

    fn wait(&self, next_due_ms: Option<i64>) -> Wait {
        let any = |which: fn(EffectKind) -> bool| self.open.iter().any(|effect| which(effect.kind));
        if self.snapshot.status().is_over() {
            Wait::Nothing
        } else if any(|kind| kind == EffectKind::Person) {
            Wait::Person
        } else if any(is_work) {
            Wait::Work
        } else if next_due_ms.is_some() {
            Wait::Timer
        } else {
            Wait::Event
        }
    }

    pub(crate) fn receipt(&self, handled: bool) -> Receipt {
        Receipt {
            instance: Arc::clone(&self.new.id),
            step: self.snapshot.step_number(),
            handled,
            status: self.snapshot.status(),
        }
    }

    /// What a person is asked by this instance.
    pub(crate) fn asked(&self, invoke: Option<&str>) -> Result<OpenEffect, HostError> {
        let name = |effect: &OpenEffect| {
            let known = self.snapshot.invocations().iter().find(|known| Some(known.id) == effect.invocation);
            known.map_or("?", |known| self.chart.invoke_name(known.invoke)).to_owned()
        };
        let all: Vec<_> = self.open.iter().filter(|effect| effect.kind == EffectKind::Person).collect();
        let id = self.new.id.to_string();
        let asked = || all.iter().map(|effect| name(effect)).collect::<Vec<_>>().join(", ");
        match (invoke, all.as_slice()) {
            (_, []) => Err(HostError::NothingAsked { id }),
            (None, [one]) => Ok((*one).clone()),
            (None, _) => Err(HostError::SeveralAsked { id, asked: asked() }),
            (Some(invoke), all_of_them) => {
                let found = all_of_them.iter().find(|effect| name(effect) == invoke);
                found.map(|effect| (*effect).clone()).ok_or_else(|| HostError::NotAsked {
                    id,
                    invoke: invoke.to_owned(),
                    asked: asked(),
                })
            }
        }
    }

    /// Whether it failed, or stands still after a fault.
    pub(crate) fn can_retry(&self) -> Result<(), HostError> {
        if self.snapshot.status() == Status::Error || self.head.fault.is_some() {
            return Ok(());
        }
        Err(HostError::NotFailed { id: self.new.id.to_string() })
    }

    pub(crate) fn open_effect(&self, step: u64, index: u32) -> Option<usize> {
        self.open.iter().position(|effect| effect.step == step && effect.index == index)
    }

    pub(crate) fn open_invocation(&self, invocation: u64) -> Option<usize> {
        self.open.iter().position(|effect| effect.invocation == Some(invocation))
    }
}

/// Whether an effect of this kind moves by itself.
pub fn is_work(kind: EffectKind) -> bool {
    match kind {
        EffectKind::Service | EffectKind::Agent | EffectKind::Child | EffectKind::Call | EffectKind::Send => {
            true
        }
        EffectKind::Person | EffectKind::Unknown => false,
    }
}
