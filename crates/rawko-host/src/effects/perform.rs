//! Doing, after the commit, what a plan asked for. Runs on the dispatcher's thread, in order.

use std::sync::Arc;

use rawko_core::{Event, Value};
use rawko_store::InstanceKey;

use crate::deadlines::Due;
use crate::error::HostError;
use crate::host::Inner;
use crate::instance::delivery::{Delivery, Source};
use crate::instance::plan::{EffectRef, Work};
use crate::services::{Category, ServiceError};

impl Inner {
    pub(crate) fn perform(self: &Arc<Self>, work: Work) {
        match work {
            Work::Run { effect, request } => {
                let instance = self.id_of(&effect);
                self.run(effect, instance, request);
            }
            Work::Fail { effect, error } => self.fail(&effect, &error),
            Work::Stop { effect } => self.stop(effect),
            Work::StopChild { id } => self.stop_child(&id),
            Work::Expire { effect: (key, step, index), due_ms } => {
                self.deadlines.set(Due::Effect(key, step, index), Some(due_ms));
            }
            Work::Post { to, seq, letter } => {
                let source = Source::Inbound { seq, child: letter.child, spent: letter.spent };
                self.post_or_complain(to, Delivery { event: Some(letter.event), source, reply: None });
            }
        }
    }

    /// The instance's id is the part of the effect's own id before the step, whatever key it is called with.
    fn id_of(&self, effect: &rawko_store::OpenEffect) -> Arc<str> {
        match self.slot(effect.instance) {
            Ok(slot) => Arc::clone(&slot.id),
            Err(_) => Arc::clone(&effect.idempotency),
        }
    }

    fn stop(&self, effect: EffectRef) {
        if let Some(task) = self.running().remove(&effect) {
            task.abort();
        }
    }

    fn stop_child(self: &Arc<Self>, id: &str) {
        match self.key_of(id) {
            Ok(key) => {
                let event = Event::CancelRequested { reason: Value::str("the parent left the state") };
                let source = Source::Outside { key: None };
                self.post_or_complain(key, Delivery { event: Some(event), source, reply: None });
            }
            // It never began: its chart was not found.
            Err(HostError::NoInstance(_)) => {}
            Err(error) => self.trouble_with(id, &error),
        }
    }

    pub(crate) fn handle_due(self: &Arc<Self>, due: Due) {
        match due {
            Due::Timer(key) | Due::Again(key) => self.attend(key),
            Due::Effect(key, step, index) => self.expire(key, step, index),
        }
    }

    fn expire(self: &Arc<Self>, key: InstanceKey, step: u64, index: u32) {
        let Ok(slot) = self.slot(key) else { return };
        let effect = {
            let live = slot.lock();
            live.open_effect(step, index).map(|at| live.open[at].clone())
        };
        if let Some(effect) = effect {
            self.fail(&effect, &ServiceError::new(Category::Expired, "nobody answered in time"));
        }
    }

    /// Takes what waits at an instance.
    pub(crate) fn attend(self: &Arc<Self>, key: InstanceKey) {
        if let Err(error) = self.nudge(key) {
            self.complain(key, &error);
        }
    }

    fn post_or_complain(self: &Arc<Self>, key: InstanceKey, delivery: Delivery) {
        if let Err(error) = self.post(key, delivery) {
            self.complain(key, &error);
        }
    }
}
