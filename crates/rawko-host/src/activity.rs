//! The activity of an instance and its children, and waiting until it settles. Separate because `run` decides with it
//! when to stop watching.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rawko_core::Status;
use rawko_instance::is_work;
use rawko_store::{EffectKind, InstanceKey, OpenEffect, StoreError};

use crate::error::HostError;
use crate::host::{Host, HostInner};

/// The activity of an instance and all of its descendants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Status of the instance itself.
    pub status: Status,
    /// A call or step is running or queued.
    pub busy: bool,
    /// A request to a person is pending.
    pub person: bool,
    /// The next timer.
    pub next_due_ms: Option<i64>,
    /// A person paused the instance.
    pub paused: bool,
    /// The error of a step that could not be taken; the instance does not continue without help.
    pub fault: Option<String>,
}

/// Why the wait is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettleReason {
    /// The instance is done or cancelled.
    Over(Status),
    /// The instance failed and waits for a retry or a cancel.
    Failed,
    /// The instance waits for an event, an answer or a timer.
    Waiting(Activity),
    /// A person paused the instance; only a resume continues it.
    Paused,
    /// The store accepts no commits, so no instance can continue.
    Stuck(StoreError),
}

impl Host {
    /// Returns the activity of an instance and its descendants.
    pub fn activity(&self, id: &str) -> Result<Activity, HostError> {
        let key = self.inner.key_of(id)?;
        self.inner.activity(key, Walk::Whole)
    }

    /// Waits until an instance is over, has failed, or is idle: it waits for a person, an event, or a timer that is
    /// further away than `patience`.
    pub async fn settled(&self, id: &str, patience: Duration) -> Result<SettleReason, HostError> {
        let key = self.inner.adopt(id)?;
        let mut changes = self.changes();
        loop {
            changes.borrow_and_update();
            if let Some(error) = self.trouble() {
                return Ok(SettleReason::Stuck(error));
            }
            let activity =
                self.off_the_runtime(key, move |inner| inner.activity(key, Walk::UntilBusy)).await?;
            if let Some(settled) = activity.settled(self.inner.clock.now_ms(), patience) {
                return Ok(settled);
            }
            if changes.changed().await.is_err() {
                return Err(HostError::Closing);
            }
        }
    }

    /// Reads the descendants of an instance on a blocking thread: there may be many, on disk, and the caller has signals
    /// to handle. Without children it is one look at the instance.
    pub(crate) async fn off_the_runtime<T: Send + 'static>(
        &self,
        key: InstanceKey,
        read: impl FnOnce(&HostInner) -> Result<T, HostError> + Send + 'static,
    ) -> Result<T, HostError> {
        let slot = self.inner.slot(key)?;
        if slot.lock().machine.children().is_empty() {
            return read(&self.inner);
        }
        let inner = Arc::clone(&self.inner);
        let looked = tokio::task::spawn_blocking(move || read(&inner)).await;
        looked.unwrap_or_else(|_| Err(HostError::Internal(slot.id.to_string())))
    }
}

/// How much of a tree is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walk {
    Whole,
    /// Ends at the first busy instance: more does not matter to a caller that waits for all.
    UntilBusy,
}

impl Activity {
    /// Returns why the wait ends, or `None` while the instance is busy or a timer within `patience` is pending.
    pub fn settled(self, now_ms: i64, patience: Duration) -> Option<SettleReason> {
        // An instance that is over may still have a commit in flight.
        if self.busy {
            return None;
        }
        if self.status.is_over() {
            return Some(SettleReason::Over(self.status));
        }
        if self.paused {
            return Some(SettleReason::Paused);
        }
        if self.status == Status::Error || self.fault.is_some() {
            return Some(SettleReason::Failed);
        }
        let horizon = now_ms.saturating_add(i64::try_from(patience.as_millis()).unwrap_or(i64::MAX));
        let soon = self.next_due_ms.is_some_and(|due_ms| due_ms <= horizon);
        (!soon).then_some(SettleReason::Waiting(self))
    }

    /// Adds the activity of a child; `None` means that it has not begun, or could not begin.
    pub fn add_child(&mut self, child: Option<Activity>) {
        let below = child.unwrap_or(Activity { busy: true, ..Activity::default() });
        // The result of a completed child is still to be delivered; a paused instance has stored it.
        self.busy |= below.busy || (below.status.is_over() && !self.paused);
        self.person |= below.person;
        self.next_due_ms = [self.next_due_ms, below.next_due_ms].into_iter().flatten().min();
    }
}

impl HostInner {
    fn activity(&self, key: InstanceKey, walk: Walk) -> Result<Activity, HostError> {
        let slot = self.slot(key)?;
        let (mut activity, children) = {
            let live = slot.lock();
            // A call that was refused before it started is not running; a resting instance does not take its result.
            let running = |effect: &OpenEffect| {
                is_work(effect.kind) && effect.kind != EffectKind::Child && effect.result.is_empty()
            };
            let machine = &live.machine;
            let open = machine.open_effects();
            let activity = Activity {
                status: machine.snapshot().status(),
                // Calls of a paused instance are parked; those that cannot be repeated finish, but move nothing.
                busy: !live.is_idle()
                    || (!machine.is_paused() && open.iter().any(running))
                    || self.unperformed.load(Ordering::SeqCst) > 0,
                paused: machine.is_paused(),
                person: open.has_requests(),
                next_due_ms: machine.next_due_ms(),
                fault: machine.head().fault.as_deref().map(str::to_owned),
            };
            (activity, machine.children())
        };
        for child in children {
            if activity.busy && walk == Walk::UntilBusy {
                break;
            }
            self.add_child(&mut activity, &child, walk)?;
        }
        Ok(activity)
    }

    fn add_child(&self, activity: &mut Activity, child: &str, walk: Walk) -> Result<(), HostError> {
        let below = match self.key_of(child) {
            Ok(key) => Some(self.activity(key, walk)?),
            // The child could not begin; the parent is about to receive the failure.
            Err(HostError::NoInstance(_)) => None,
            Err(error) => return Err(error),
        };
        activity.add_child(below);
        Ok(())
    }
}
