//! One turn: the next input is taken, its transaction committed, its actions performed. Each arrow is a place to crash.

use rawko_instance::{DriverAction, Input, InputOutcome, Instance, InstanceError, Transaction};
use rawko_store::{Commit, StoreError};

use super::{CommitFate, DriverTurn, Point, SimDelivery, SimDriver, SimReply};

impl SimDriver {
    /// Takes the next thing that waits at this moment.
    pub fn turn(&mut self) -> Result<DriverTurn, InstanceError> {
        let Some(delivery) = self.next_delivery()? else { return Ok(DriverTurn::Idle) };
        let repeats = self.services.borrow_mut().repeats(delivery.to, &delivery.input);
        let again =
            (repeats || self.chaos.duplicates()).then(|| SimDelivery { request: None, ..delivery.clone() });
        let turn = self.take(delivery)?;
        if turn == DriverTurn::Took {
            self.queue.extend(again);
        }
        Ok(turn)
    }

    fn next_delivery(&mut self) -> Result<Option<SimDelivery>, StoreError> {
        if !self.queue.is_empty() {
            let at = self.chaos.picks(self.queue.len()).min(self.queue.len() - 1);
            return Ok(self.queue.remove(at));
        }
        let timer = self.deadlines.iter().map(|(key, due)| (*due, *key)).min();
        let timer = timer.filter(|((due_ms, _), _)| *due_ms <= self.now_ms);
        let call = self.agenda.first_key_value().map(|(due, _)| *due);
        let call = call.filter(|(due_ms, _)| *due_ms <= self.now_ms);
        Ok(match (timer, call) {
            (Some((due, to)), call) if call.is_none_or(|call| due < call) => {
                Some(SimDelivery { to, input: Input::Time, request: None })
            }
            (_, Some(_)) => self.agenda.pop_first().map(|(_, (delivery, _))| delivery),
            (_, None) => None,
        })
    }

    /// Sets the deadline of an instance, unless it is set already.
    pub(super) fn watch(&mut self, instance: &Instance) {
        let due_ms = instance.next_due_ms();
        if self.deadlines.get(&instance.key()).map(|(due_ms, _)| *due_ms) == due_ms {
            return;
        }
        self.deadlines.remove(&instance.key());
        if let Some(due_ms) = due_ms {
            let order = self.next_order();
            self.deadlines.insert(instance.key(), (due_ms, order));
        }
    }

    fn take(&mut self, delivery: SimDelivery) -> Result<DriverTurn, InstanceError> {
        let before = self.load(delivery.to)?;
        let is_twice = delivery.input == Input::Time && self.chaos.loads_twice();
        let copy = is_twice.then(|| before.clone());
        let turn = self.take_with(before, delivery)?;
        match copy {
            Some(copy) if turn == DriverTurn::Took => self.take_copy(copy),
            Some(_) | None => Ok(turn),
        }
    }

    fn take_with(&mut self, before: Instance, delivery: SimDelivery) -> Result<DriverTurn, InstanceError> {
        let SimDelivery { to, input, request } = delivery;
        let mut instance = before.clone();
        let mut tx = instance.begin();
        let reply = match instance.take(input.clone(), &*self, self.now_ms, &mut tx) {
            InputOutcome::Handled(reply) => Some(reply),
            InputOutcome::Deferred(input) => {
                self.queue.push_front(SimDelivery { to, input, request });
                None
            }
        };
        let is_deferred = reply.is_none();
        instance.finish(&mut tx);
        let replies: Vec<(u64, SimReply)> = request.into_iter().zip(reply).collect();
        if tx.is_empty() {
            self.watch(&instance);
            self.live.insert(to, instance);
            self.replies.extend(replies);
            return Ok(DriverTurn::Took);
        }
        match self.commit(instance, tx, &replies) {
            // It has not happened: the input waits, the instance is as it was, a caller hears of the fault.
            Err(InstanceError::Store(fault)) if fault.is_transient() => {
                self.live.insert(to, before);
                match request {
                    _ if is_deferred => {}
                    Some(request) => drop(self.replies.insert(request, Err(fault.into()))),
                    None => self.queue.push_back(SimDelivery { to, input, request }),
                }
                Ok(DriverTurn::Took)
            }
            // The store contradicts the copy in memory: the copy is dropped, and the input is taken again.
            Err(InstanceError::Store(StoreError::Refused(_))) => {
                self.live.remove(&to);
                if !is_deferred {
                    self.queue.push_back(SimDelivery { to, input, request });
                }
                Ok(DriverTurn::Took)
            }
            turn => turn,
        }
    }

    /// Processes due timers in a second copy, which was loaded before the first one committed.
    fn take_copy(&mut self, mut copy: Instance) -> Result<DriverTurn, InstanceError> {
        let mut tx = copy.begin();
        let _ = copy.take(Input::Time, &*self, self.now_ms, &mut tx);
        copy.finish(&mut tx);
        if tx.is_empty() {
            return Ok(DriverTurn::Took);
        }
        match self.commit(copy, tx, &[]) {
            Err(InstanceError::Store(fault))
                if fault.is_transient() || matches!(fault, StoreError::Refused(_)) =>
            {
                Ok(DriverTurn::Took)
            }
            turn => turn,
        }
    }

    /// Commits and performs a transaction.
    pub(super) fn commit(
        &mut self,
        instance: Instance,
        mut tx: Transaction,
        replies: &[(u64, SimReply)],
    ) -> Result<DriverTurn, InstanceError> {
        if self.dies(Point::BeforeCommit) {
            return Ok(DriverTurn::Crashed);
        }
        let commits = tx.take_commits();
        match self.chaos.commit_fate() {
            CommitFate::Kept => self.write(&commits)?,
            CommitFate::Refused => return Err(StoreError::Full("simulated".into()).into()),
            CommitFate::Torn => {
                self.torn = commits;
                return Err(StoreError::Io("simulated".into()).into());
            }
            CommitFate::Unknown => {
                self.write(&commits)?;
                self.crash();
                return Ok(DriverTurn::Crashed);
            }
        }
        if let Some(traces) = &mut self.traces {
            self.failures.append(&mut tx.failures);
            traces.append(&mut tx.traces);
        }
        self.watch(&instance);
        self.live.insert(instance.key(), instance);
        for child in tx.children {
            self.watch(&child.instance);
            self.live.insert(child.instance.key(), child.instance);
        }
        if self.dies(Point::AfterCommit) {
            return Ok(DriverTurn::Crashed);
        }
        for action in tx.actions {
            self.perform(action);
            if self.dies(Point::AfterAction) {
                return Ok(DriverTurn::Crashed);
            }
        }
        if self.dies(Point::BeforeReply) {
            return Ok(DriverTurn::Crashed);
        }
        self.replies.extend(replies.iter().cloned());
        Ok(DriverTurn::Took)
    }

    /// Writes commits, and overwrites the torn ones of an earlier write.
    fn write(&mut self, commits: &[Commit]) -> Result<(), StoreError> {
        self.store.commit(commits)?;
        self.torn.clear();
        Ok(())
    }

    fn dies(&mut self, point: Point) -> bool {
        let dies = self.chaos.crashes(point);
        if dies {
            self.crash();
        }
        dies
    }

    fn perform(&mut self, action: DriverAction) {
        match action {
            DriverAction::Run { effect, request } => self.call(effect, request),
            DriverAction::Stop { instance, effect } => {
                self.agenda.retain(|_, (delivery, survives_stop)| {
                    let is_same =
                        matches!(&delivery.input, Input::Result { effect: of, .. } if *of == effect);
                    *survives_stop || delivery.to != instance || !is_same
                });
            }
            DriverAction::Deliver { to, seq, message } => {
                self.queue.push_back(SimDelivery {
                    to,
                    input: Input::Message { seq, message },
                    request: None,
                });
            }
        }
    }
}
