//! Performs actions after their commit, in order, on the dispatcher's thread.

use std::sync::Arc;

use rawko_instance::{DriverAction, EffectPlace, Input};
use rawko_store::{InstanceKey, OpenEffect};

use super::deadlines::DeadlineKind;
use super::slot::MailboxDelivery;
use crate::host::HostInner;

impl HostInner {
    pub(crate) fn perform(self: &Arc<Self>, action: DriverAction) {
        if self.defers(&action) {
            return;
        }
        match action {
            DriverAction::Run { effect, request } => {
                let instance = self.id_of(&effect);
                self.run(effect, instance, request);
            }
            DriverAction::Stop { instance, effect } => self.stop(instance, effect),
            // Stored with its sender's step; a host that drives the recipient delivers it.
            DriverAction::Deliver { to, .. } if !self.drives_key(to) => {}
            DriverAction::Deliver { to, seq, message } => {
                self.post_or_complain(to, MailboxDelivery::unawaited(Input::Message { seq, message }));
            }
        }
    }

    /// Returns the instance's id: the part of the effect's own id before the step, independent of its idempotency key.
    fn id_of(&self, effect: &OpenEffect) -> Arc<str> {
        match self.slot(effect.instance) {
            Ok(slot) => Arc::clone(&slot.id),
            Err(_) => Arc::clone(&effect.idempotency),
        }
    }

    fn stop(&self, instance: InstanceKey, effect: EffectPlace) {
        if let Some(call) = self.running().remove(&(instance, effect)) {
            call.task.abort();
        }
    }

    pub(crate) fn handle_due(self: &Arc<Self>, due: DeadlineKind) {
        match due {
            DeadlineKind::Instance(_) if self.leaves_rest() => {}
            // A migrated instance that this host does not drive keeps its timers for the next host.
            DeadlineKind::Instance(key) if !self.drives_key(key) => self.disarm(key),
            DeadlineKind::Instance(key) | DeadlineKind::Again(key) => self.attend(key),
        }
    }

    fn disarm(&self, key: InstanceKey) {
        if let Ok(slot) = self.slot(key) {
            slot.lock().armed_ms = None;
        }
    }

    /// Handles the inputs that wait at an instance, and reports an error in the background.
    pub(crate) fn attend(self: &Arc<Self>, key: InstanceKey) {
        if let Err(error) = self.nudge(key) {
            self.complain(key, &error);
        }
    }

    pub(crate) fn post_or_complain(self: &Arc<Self>, key: InstanceKey, delivery: MailboxDelivery) {
        if let Err(error) = self.post(key, delivery) {
            self.complain(key, &error);
        }
    }
}
