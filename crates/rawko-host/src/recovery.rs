//! Starting a host on a store that has been used: timers are armed again, events on their way are posted, and effects
//! without a result are run again where that is safe, or reported to the chart where it is not.

use std::sync::Arc;

use rawko_store::{AuditLine, Commit, EffectKind, OpenEffect};

use crate::deadlines::Due;
use crate::effects::child::child_id;
use crate::error::HostError;
use crate::host::Inner;
use crate::instance::Slot;
use crate::instance::delivery::{Delivery, Letter, Source};
use crate::instance::plan::Request;
use crate::policy::agent_of;
use crate::services::{Category, ServiceError};

impl Inner {
    /// Goes on where the last host stopped. Nothing is loaded that has nothing to do.
    pub(crate) fn recover(self: &Arc<Self>) -> Result<(), HostError> {
        for (key, due_ms) in self.store.timers()? {
            self.deadlines.set(Due::Timer(key), Some(due_ms));
        }
        for effect in self.store.open_effects(None)? {
            self.recover_effect(effect)?;
        }
        for inbound in self.store.inbound(None)? {
            let text = self.reader.unpack(&inbound.event)?;
            match serde_json::from_str::<Letter>(&text) {
                Ok(letter) => {
                    let source =
                        Source::Inbound { seq: inbound.seq, child: letter.child, spent: letter.spent };
                    self.post(inbound.to, Delivery { event: Some(letter.event), source, reply: None })?;
                }
                Err(error) => self.trouble_with("inbound", &HostError::Internal(error.to_string())),
            }
        }
        Ok(())
    }

    fn recover_effect(self: &Arc<Self>, effect: OpenEffect) -> Result<(), HostError> {
        match effect.kind {
            EffectKind::Service | EffectKind::Agent | EffectKind::Call | EffectKind::Send => {
                self.recover_call(effect)
            }
            EffectKind::Person => {
                let due = Due::Effect(effect.instance, effect.step, effect.index);
                self.deadlines.set(due, effect.due_ms);
                Ok(())
            }
            // A child goes on by itself; an unknown outcome waits for the next attempt.
            EffectKind::Child => self.recover_child(&effect),
            EffectKind::Unknown => Ok(()),
        }
    }

    fn recover_call(self: &Arc<Self>, effect: OpenEffect) -> Result<(), HostError> {
        let slot = self.slot(effect.instance)?;
        let text = self.reader.unpack(&effect.body)?;
        let request = serde_json::from_str::<Request>(&text);
        let again = request.as_ref().is_ok_and(|request| self.project.may_repeat(&effect, request));
        self.note_restart(&effect, &slot.id, again);
        if !again {
            let message = format!("the host stopped while `{}` ran; nobody knows its outcome", effect.name);
            self.fail(&effect, &ServiceError::new(Category::Interrupted, message));
            return Ok(());
        }
        match request {
            Ok(request) => self.run_allowed(effect, &slot, request),
            Err(error) => self.trouble_with(&slot.id, &HostError::Internal(error.to_string())),
        }
        Ok(())
    }

    /// The gate may have been closed meanwhile.
    fn run_allowed(self: &Arc<Self>, effect: OpenEffect, slot: &Slot, request: Request) {
        let agent = agent_of(&slot.lock().policy).map(str::to_owned);
        match self.project.gate.by_settings(&effect.name, agent.as_deref()) {
            Ok(_) => self.run(effect, Arc::clone(&slot.id), request),
            Err(rule) => self.fail(&effect, &ServiceError::new(Category::Refused, rule)),
        }
    }

    /// A child that could not begin was reported by a task that died with the host.
    fn recover_child(self: &Arc<Self>, effect: &OpenEffect) -> Result<(), HostError> {
        let slot = self.slot(effect.instance)?;
        let id = child_id(&slot.id, effect);
        if self.reader.key(&id)?.is_none() {
            let message = format!("`{}` could not be started before the host stopped", effect.name);
            self.fail(effect, &ServiceError::new(Category::Unknown, message));
        }
        Ok(())
    }

    fn note_restart(self: &Arc<Self>, effect: &OpenEffect, instance: &Arc<str>, again: bool) {
        let line = AuditLine {
            at_ms: self.clock.now_ms(),
            instance: Arc::clone(instance),
            effect: Arc::clone(&effect.idempotency),
            service: Arc::clone(&effect.name),
            decision: if again { "repeated" } else { "interrupted" }.into(),
            reason: "the host stopped while it ran".into(),
            provenance: String::new(),
        };
        let commit = Commit { instance: effect.instance, audit: vec![line], ..Commit::default() };
        let host = Arc::downgrade(self);
        self.writer.submit(vec![commit], move |result| {
            if let (Err(error), Some(host)) = (result, host.upgrade()) {
                host.trouble(error);
            }
        });
    }
}
