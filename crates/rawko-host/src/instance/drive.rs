//! Driving an instance: post, take, commit, and after the commit do what it asked for. Or, when the disk refuses, put
//! everything back.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};

use rawko_store::{InstanceKey, StoreError};

use super::delivery::Delivery;
use super::plan::{Plan, Work};
use super::{Live, MAILBOX_MAX, Slot};
use crate::deadlines::Due;
use crate::dispatch::Job;
use crate::error::HostError;
use crate::host::Inner;

/// How long a host waits before it tries a refused commit again.
const AGAIN_MS: i64 = 1_000;

impl Inner {
    /// Puts a delivery into an instance's mailbox and drives it, loading it if it lives on disk.
    pub(crate) fn post(self: &Arc<Self>, key: InstanceKey, delivery: Delivery) -> Result<(), HostError> {
        loop {
            let slot = self.slot(key)?;
            let mut live = slot.lock();
            if live.evicted {
                continue;
            }
            if live.mailbox.len() >= MAILBOX_MAX {
                return Err(HostError::Busy { id: live.new.id.to_string(), limit: MAILBOX_MAX });
            }
            live.mailbox.push_back(delivery);
            self.drive(&slot, live);
            return Ok(());
        }
    }

    /// Takes what is due or waits at an instance, if anything.
    pub(crate) fn nudge(self: &Arc<Self>, key: InstanceKey) -> Result<(), HostError> {
        loop {
            let slot = self.slot(key)?;
            let mut live = slot.lock();
            // If it was a deadline that brought us here, it is gone from the table.
            live.armed_ms = None;
            if !live.evicted {
                self.drive(&slot, live);
                return Ok(());
            }
        }
    }

    fn drive(self: &Arc<Self>, slot: &Arc<Slot>, mut live: MutexGuard<'_, Live>) {
        if live.committing {
            return;
        }
        match self.planner().take_waiting(slot.key, &mut live, self.clock.now_ms()) {
            Some(plan) => {
                live.committing = true;
                drop(live);
                self.submit(slot, plan);
            }
            None => {
                self.watch_deadline(slot.key, &mut live);
                let rests = std::mem::replace(&mut live.rests, true);
                drop(live);
                if !rests {
                    self.rest(slot);
                }
            }
        }
    }

    pub(crate) fn submit(self: &Arc<Self>, slot: &Arc<Slot>, mut plan: Plan) {
        let seen = self.seen(slot, &plan);
        let commits = plan.take_commits();
        let (host, slot) = (Arc::clone(self), Arc::clone(slot));
        let is_awaited = !plan.replies.is_empty();
        let done = move |result| match result {
            Ok(()) => {
                host.tell(seen);
                host.committed(&slot, plan);
            }
            Err(error) => host.refused(&slot, plan, &error),
        };
        if is_awaited {
            self.writer.submit(commits, done);
        } else {
            self.writer.submit_unawaited(commits, done);
        }
    }

    /// On disk: now it has happened, and what it asked for may begin. Runs on the writer's thread, so it only hands on.
    fn committed(self: &Arc<Self>, slot: &Arc<Slot>, plan: Plan) {
        let is_quick = self.is_quick(&plan.work);
        // Before anybody can see the instance at rest: there is more to come.
        if !plan.work.is_empty() && !is_quick {
            self.unperformed.fetch_add(1, Ordering::SeqCst);
        }
        for (_, child) in &plan.children {
            let mut live = child.lock();
            live.committing = false;
            self.watch_deadline(child.key, &mut live);
            drop(live);
            self.instances.enter(child);
        }
        let (more, rests) = {
            let mut live = slot.lock();
            live.committing = false;
            self.watch_deadline(slot.key, &mut live);
            (!live.mailbox.is_empty(), std::mem::replace(&mut live.rests, true))
        };
        for (reply, answer) in plan.replies {
            // Whoever asked may have gone away; it happened all the same.
            let _ = reply.send(answer);
        }
        if is_quick {
            plan.work.into_iter().for_each(|work| self.perform(work));
        } else if !plan.work.is_empty() {
            self.dispatch.send(Job::Work(plan.work));
        }
        if more {
            self.dispatch.send(Job::Nudge(slot.key));
        }
        if !rests {
            self.rest(slot);
        }
        self.changed();
    }

    /// Whether all there is to do is to ask plain functions, and nothing that was asked for earlier is still to be done:
    /// then it is done here, which saves waking two threads.
    fn is_quick(&self, work: &[Work]) -> bool {
        let is_function = |work: &Work| match work {
            Work::Run { effect, .. } => self
                .project
                .find_service(&effect.name, effect.kind)
                .is_some_and(|service| service.is_function()),
            Work::Fail { .. }
            | Work::Stop { .. }
            | Work::StopChild { .. }
            | Work::Expire { .. }
            | Work::Post { .. } => false,
        };
        work.iter().all(is_function) && self.unperformed.load(Ordering::SeqCst) == 0
    }

    /// Not on disk: it has not happened. What came from within is taken again later; who asked from outside is told.
    fn refused(self: &Arc<Self>, slot: &Arc<Slot>, plan: Plan, error: &StoreError) {
        let mut live = slot.lock();
        live.committing = false;
        live.snapshot = plan.undo.snapshot;
        live.head = plan.undo.head;
        live.open = plan.undo.open;
        live.calls = plan.undo.calls;
        live.ledger = plan.undo.ledger;
        live.delta_bytes = plan.undo.delta_bytes;
        live.snapshot_bytes = plan.undo.snapshot_bytes;
        for delivery in plan.again.into_iter().rev() {
            live.mailbox.push_front(delivery);
        }
        drop(live);
        // Before anybody is told: whoever asks why then finds the reason.
        self.trouble(error.clone());
        for (reply, answer) in plan.replies {
            // An answer that says no needs no disk.
            let _ = reply.send(answer.and(Err(HostError::Store(error.clone()))));
        }
        self.deadlines.set(Due::Again(slot.key), Some(self.clock.now_ms() + AGAIN_MS));
    }

    fn watch_deadline(&self, key: InstanceKey, live: &mut Live) {
        let due = live.head.next_due_ms.filter(|_| live.head.fault.is_none());
        if live.armed_ms != due {
            live.armed_ms = due;
            self.deadlines.set(Due::Timer(key), due);
        }
    }
}
