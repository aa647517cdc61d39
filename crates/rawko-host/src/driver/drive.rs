//! Drives one instance: post, handle, commit, then perform the actions of the commit. Separate from the table of
//! instances because everything that must be undone when the store refuses a commit is here.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};

use rawko_instance::{Action, EffectPlace, Input, Instance, InstanceError, Receipt, Taken, Transaction};
use rawko_store::{InstanceKey, StoreError};

use super::deadlines::Due;
use super::dispatch::Job;
use super::slot::{Delivery, MAILBOX_MAX, Reply, Slot, SlotState};
use crate::error::HostError;
use crate::host::Inner;

/// Delay before a refused commit is retried.
const AGAIN_MS: i64 = 1_000;
/// Maximum number of records in one commit of an instance: a burst shares a commit without delaying other instances.
const RECORDS_PER_COMMIT: usize = 64;

/// A transaction in flight to the store, with everything needed to undo it.
pub(crate) struct Pending {
    tx: Transaction,
    children: Vec<Arc<Slot>>,
    replies: Vec<(Reply, Result<Receipt, HostError>)>,
    /// Inputs without a waiting caller; they are retried if the commit fails.
    again: Vec<Input>,
    /// The instance before the transaction; `None` for its first commit.
    before: Option<Box<Instance>>,
}

impl Pending {
    /// Creates the first commit of an instance.
    pub(crate) fn first(tx: Transaction, reply: Reply, receipt: Receipt) -> Self {
        let replies = vec![(reply, Ok(receipt))];
        Self { tx, children: Vec::new(), replies, again: Vec::new(), before: None }
    }

    pub(crate) fn transaction(&self) -> &Transaction {
        &self.tx
    }

    pub(crate) fn before(&self) -> Option<&Instance> {
        self.before.as_deref()
    }
}

impl Inner {
    /// Puts a delivery into an instance's mailbox and drives the instance, loading it from disk if necessary.
    pub(crate) fn post(self: &Arc<Self>, key: InstanceKey, delivery: Delivery) -> Result<(), HostError> {
        loop {
            let slot = self.slot(key)?;
            let mut live = slot.lock();
            if live.evicted {
                continue;
            }
            // Messages between instances are committed already: refusing one would lose it.
            if live.mailbox.len() >= MAILBOX_MAX && delivery.reply.is_some() {
                let id = slot.id.to_string();
                return Err(HostError::Busy { id, limit: MAILBOX_MAX });
            }
            live.mailbox.push_back(delivery);
            self.drive(&slot, live);
            return Ok(());
        }
    }

    /// Handles due timers and waiting inputs of an instance.
    pub(crate) fn nudge(self: &Arc<Self>, key: InstanceKey) -> Result<(), HostError> {
        loop {
            let slot = self.slot(key)?;
            let mut live = slot.lock();
            // The deadline that triggered this call is no longer in the table.
            live.armed_ms = None;
            if !live.evicted {
                self.drive(&slot, live);
                return Ok(());
            }
        }
    }

    fn drive(self: &Arc<Self>, slot: &Arc<Slot>, mut live: MutexGuard<'_, SlotState>) {
        if live.committing {
            return;
        }
        match self.take_waiting(&mut live) {
            Some(pending) => {
                live.committing = true;
                drop(live);
                self.submit(slot, pending);
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

    /// Handles due timers and waiting inputs. Returns `None` if there is nothing to write.
    fn take_waiting(self: &Arc<Self>, live: &mut SlotState) -> Option<Pending> {
        let now_ms = self.clock.now_ms();
        if live.mailbox.is_empty() && !live.machine.is_due(now_ms) {
            return None;
        }
        let before = Some(Box::new(live.machine.clone()));
        let tx = live.machine.begin();
        let mut pending =
            Pending { tx, children: Vec::new(), replies: Vec::new(), again: Vec::new(), before };
        while pending.tx.commit.records.len() < RECORDS_PER_COMMIT {
            let migrates = live.mailbox.front().is_some_and(|delivery| delivery.input.migrates());
            if migrates && !pending.tx.commit.records.is_empty() {
                // A migration has a transaction of its own.
                break;
            }
            if !migrates && live.machine.is_due(now_ms) {
                live.machine.take(Input::Time, &**self, now_ms, &mut pending.tx);
            } else if let Some(delivery) = live.mailbox.pop_front() {
                if !self.take_one(live, delivery, now_ms, &mut pending) || migrates {
                    break;
                }
            } else {
                break;
            }
        }
        live.machine.finish(&mut pending.tx);
        if pending.tx.is_empty() {
            // A reply to an input that changed nothing needs no commit.
            pending.replies.into_iter().for_each(|(reply, answer)| drop(reply.send(answer)));
            return None;
        }
        Some(pending)
    }

    /// Handles one delivery. Returns `false` if it has to wait for the next commit.
    fn take_one(&self, live: &mut SlotState, delivery: Delivery, now_ms: i64, pending: &mut Pending) -> bool {
        let Delivery { input, reply } = delivery;
        let copy = reply.is_none().then(|| input.clone());
        let answer = match live.machine.take(input, self, now_ms, &mut pending.tx) {
            Taken::Deferred(input) => {
                live.mailbox.push_front(Delivery { input, reply });
                return false;
            }
            Taken::Handled(answer) => answer,
        };
        match (reply, copy) {
            (Some(reply), _) => pending.replies.push((reply, answer.map_err(HostError::from))),
            (None, Some(input)) => {
                if let Err(InstanceError::Store(error)) = answer {
                    // The store could not be read, so the input was not handled.
                    live.mailbox.push_front(Delivery::unawaited(input));
                    self.trouble(error);
                    self.deadlines.set(Due::Again(live.machine.key()), Some(now_ms + AGAIN_MS));
                    return false;
                }
                pending.again.push(input);
            }
            (None, None) => {}
        }
        true
    }

    pub(crate) fn submit(self: &Arc<Self>, slot: &Arc<Slot>, mut pending: Pending) {
        let seen = self.seen(slot, &pending);
        let commits = pending.tx.take_commits();
        // Children are registered before they are on disk, so that a second copy is never loaded.
        let children = std::mem::take(&mut pending.tx.children);
        pending.children = children.into_iter().map(|child| Slot::committing(child.instance)).collect();
        pending.children.iter().for_each(|child| self.instances.enter(child));
        let (host, slot) = (Arc::clone(self), Arc::clone(slot));
        let is_awaited = !pending.replies.is_empty();
        let done = move |result| match result {
            Ok(()) => {
                host.tell(seen);
                host.committed(&slot, pending);
            }
            Err(error) => host.refused(&slot, pending, &error),
        };
        if is_awaited {
            self.writer.submit(commits, done);
        } else {
            self.writer.submit_unawaited(commits, done);
        }
    }

    /// Completes a durable commit and begins its actions. Runs on the writer's thread, so it only forwards work.
    fn committed(self: &Arc<Self>, slot: &Arc<Slot>, pending: Pending) {
        let Pending { tx, children, replies, .. } = pending;
        let is_quick = self.is_quick(&tx.actions);
        // Counted before the instance can be observed idle, because its actions are still to come.
        if !tx.actions.is_empty() && !is_quick {
            self.unperformed.fetch_add(1, Ordering::SeqCst);
        }
        tx.refused.iter().for_each(|(effect, error)| self.tell_failed(effect, error));
        for child in &children {
            self.release(child);
        }
        let rests = self.release(slot);
        self.clean_up(slot);
        for (reply, answer) in replies {
            // The caller may have stopped waiting; the commit is durable regardless.
            let _ = reply.send(answer);
        }
        if is_quick {
            tx.actions.into_iter().for_each(|action| self.perform(action));
        } else if !tx.actions.is_empty() {
            self.dispatch.send(Job::Perform(tx.actions));
        }
        if !rests {
            self.rest(slot);
        }
        self.changed();
    }

    /// Unlocks a slot after a commit and schedules inputs that arrived meanwhile. Returns true if the slot was queued
    /// for eviction.
    fn release(self: &Arc<Self>, slot: &Arc<Slot>) -> bool {
        let mut live = slot.lock();
        live.committing = false;
        self.watch_deadline(slot.key, &mut live);
        if !live.mailbox.is_empty() {
            self.dispatch.send(Job::Nudge(slot.key));
        }
        let bytes = live.machine.memory_bytes();
        let rests = std::mem::replace(&mut live.rests, true);
        drop(live);
        // The table is locked only for a change that matters.
        if bytes > 2 * slot.weight() || 2 * bytes < slot.weight() {
            self.instances.weigh(slot, bytes);
        }
        rests
    }

    /// Returns true if every action calls a plain function and no earlier action is outstanding. Such actions run on
    /// this thread, which saves waking two others.
    fn is_quick(&self, actions: &[Action]) -> bool {
        let is_function = |action: &Action| match action {
            Action::Run { effect, .. } => self
                .project
                .find_service(&effect.name, effect.kind)
                .is_some_and(|service| service.is_function()),
            Action::Stop { .. } | Action::Deliver { .. } => false,
        };
        actions.iter().all(is_function) && self.unperformed.load(Ordering::SeqCst) == 0
    }

    /// Undoes a commit that failed. Internal inputs are retried later; external callers get the error.
    fn refused(self: &Arc<Self>, slot: &Arc<Slot>, pending: Pending, error: &StoreError) {
        for child in &pending.children {
            child.lock().evicted = true;
            self.instances.forget(child.key);
        }
        let mut live = slot.lock();
        live.committing = false;
        if let Some(before) = pending.before {
            live.machine = *before;
        }
        for input in pending.again.into_iter().rev() {
            live.mailbox.push_front(Delivery::unawaited(input));
        }
        // The store contradicts the copy in memory; the stored version wins.
        let waiting = if matches!(error, StoreError::Refused(_)) {
            live.evicted = true;
            std::mem::take(&mut live.mailbox)
        } else {
            Default::default()
        };
        let is_evicted = live.evicted;
        drop(live);
        if is_evicted {
            self.instances.forget(slot.key);
            waiting.into_iter().for_each(|delivery| self.dispatch.send(Job::Post(slot.key, delivery)));
        }
        // Recorded before the callers get the error, so that one that looks up the reason finds it.
        self.trouble(error.clone());
        for (reply, answer) in pending.replies {
            // An input that was rejected anyway keeps its own error.
            let _ = reply.send(answer.and(Err(HostError::Store(error.clone()))));
        }
        self.deadlines.set(Due::Again(slot.key), Some(self.clock.now_ms() + AGAIN_MS));
    }

    fn watch_deadline(&self, key: InstanceKey, live: &mut SlotState) {
        let due = live.machine.next_due_ms();
        if live.armed_ms != due {
            live.armed_ms = due;
            self.deadlines.set(Due::Instance(key), due);
        }
    }

    /// Marks calls that were requested but not begun, so that the next host runs them.
    pub(crate) fn park(self: &Arc<Self>, key: InstanceKey, effects: &[EffectPlace]) {
        let Ok(slot) = self.slot(key) else { return };
        let commit = slot.lock().machine.park(effects).commit;
        if !commit.opened.is_empty() {
            let host = Arc::clone(self);
            self.writer.submit_unawaited(vec![commit], move |result| {
                if let Err(error) = result {
                    host.trouble(error);
                }
            });
        }
    }
}
