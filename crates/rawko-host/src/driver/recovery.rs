//! Starts a host on an existing store: sets deadlines again, delivers messages in flight, and informs instances with
//! open calls of the restart. The machine handles each input once in any order, but messages come first: one of them
//! may stop the instance, and then its calls must not run again.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rawko_instance::{Input, StoredMessage};
use rawko_store::{EffectKind, Inbound, InstanceKey, OpenEffect, StoreError};

use super::deadlines::DeadlineKind;
use super::slot::MailboxDelivery;
use crate::error::HostError;
use crate::host::HostInner;

impl HostInner {
    /// Continues after the last host. Instances without pending work stay on disk; an unreadable instance is reported
    /// and does not stop the others. A host that drives only requested instances continues nothing by itself.
    pub(crate) fn recover(self: &Arc<Self>) -> Result<(), HostError> {
        if !self.scope.is_all() {
            return Ok(());
        }
        for (key, due_ms) in self.store.timers()? {
            self.deadlines.set_earlier(DeadlineKind::Instance(key), due_ms);
        }
        self.deliver_inbound(self.store.inbound(None)?)?;
        self.restart_calls(self.store.open_effects(None)?)
    }

    /// Reports damaged rows, also of instances that nothing loads: one whose open effect was deleted would wait for ever
    /// without a message. Beside the host, because its start does not depend on the number of instances.
    pub(crate) fn look_for_damage(self: &Arc<Self>) {
        if !self.scope.is_all() {
            return;
        }
        let host = Arc::downgrade(self);
        self.runtime.spawn_blocking(move || {
            let mut after = None;
            loop {
                // A host that is dropped meanwhile waits for one part at most.
                let Some(host) = host.upgrade() else { return };
                match host.store.damage(after) {
                    Ok(part) => {
                        for problem in part.problems {
                            host.trouble_with("store", &HostError::Store(StoreError::Damaged(problem)));
                        }
                        after = part.last;
                    }
                    Err(error) => {
                        host.trouble_with("store", &HostError::Store(error));
                        return;
                    }
                }
                if after.is_none() || host.stopping.load(Ordering::SeqCst) {
                    return;
                }
            }
        });
    }

    /// Continues one instance and its descendants after the last host.
    pub(crate) fn recover_tree(self: &Arc<Self>, root: &str) -> Result<(), HostError> {
        let mut ahead: Vec<_> = self.store.find(root)?.into_iter().collect();
        while let Some(row) = ahead.pop() {
            if let Some(due_ms) = row.head.next_due_ms {
                self.deadlines.set_earlier(DeadlineKind::Instance(row.key), due_ms);
            }
            self.deliver_inbound(self.store.inbound(Some(row.key))?)?;
            self.restart_calls(self.store.open_effects(Some(row.key))?)?;
            ahead.extend(self.store.children(&row.new.id)?);
        }
        Ok(())
    }

    fn restart_calls(self: &Arc<Self>, open: Vec<OpenEffect>) -> Result<(), HostError> {
        if open.iter().any(is_call) {
            // What a killed host's calls left running must not act beside their repetition.
            rawko_process::end_leftovers();
        }
        let epoch = u64::try_from(self.clock.now_ms()).unwrap_or(0);
        let mut restarted = BTreeSet::new();
        let mut stopping = HashMap::new();
        for effect in open {
            if let Some(due_ms) = effect.due_ms {
                self.deadlines.set_earlier(DeadlineKind::Instance(effect.instance), due_ms);
            }
            if is_call(&effect)
                && restarted.insert(effect.instance)
                && !self.is_stopping(effect.instance, &mut stopping)?
            {
                self.post_or_complain(effect.instance, MailboxDelivery::unawaited(Input::Restart { epoch }));
            }
        }
        Ok(())
    }

    /// Returns true if an ancestor has ended: the message that stops this instance is on its way, and its calls must
    /// not run again before it arrives. `known` holds earlier answers, because siblings share their ancestors.
    fn is_stopping(&self, key: InstanceKey, known: &mut HashMap<Arc<str>, bool>) -> Result<bool, HostError> {
        let mut row = self.store.instance(key)?;
        let mut below = Vec::new();
        let is_stopping = loop {
            let Some(parent) = row.and_then(|row| row.new.parent) else { break false };
            if let Some(answer) = known.get(&parent.id) {
                break *answer;
            }
            row = self.store.find(&parent.id)?;
            below.push(parent.id);
            if row.as_ref().is_some_and(|row| row.head.status.is_over()) {
                break true;
            }
        };
        known.extend(below.into_iter().map(|id| (id, is_stopping)));
        Ok(is_stopping)
    }

    fn deliver_inbound(self: &Arc<Self>, inbound: Vec<Inbound>) -> Result<(), HostError> {
        for inbound in inbound {
            let text = self.reader.unpack(&inbound.event)?;
            match serde_json::from_str::<StoredMessage>(&text) {
                Ok(message) => {
                    let input = Input::Message { seq: inbound.seq, message };
                    self.post_or_complain(inbound.to, MailboxDelivery::unawaited(input));
                }
                Err(error) => self.trouble_with("inbound", &HostError::Internal(error.to_string())),
            }
        }
        Ok(())
    }
}

fn is_call(effect: &OpenEffect) -> bool {
    match effect.kind {
        EffectKind::Service | EffectKind::Agent | EffectKind::Call | EffectKind::Send => true,
        EffectKind::Child | EffectKind::Person | EffectKind::Unknown | EffectKind::Held => false,
    }
}
