//! `StoredMessage`: an event of another instance, of its own, or the result of a child. Handled once, by its key or by the
//! open effect that it answers.

use std::sync::Arc;

use rawko_core::{Event, EventRefusal, ServiceClass, ServiceName, Value};

use super::pause::HeldInput;
use crate::consequences::own_event_refusal;
use crate::effects::child::child_id;
use crate::environment::MachineEnvironment;
use crate::error::InstanceError;
use crate::instance::Instance;
use crate::message::StoredMessage;
use crate::receipt::Receipt;
use crate::records::{EffectKind, OpenEffect};
use crate::result::{EffectNote, EffectResult};
use crate::transaction::{EffectPlace, Transaction};

impl Instance {
    pub(super) fn take_message(
        &mut self,
        seq: i64,
        message: &StoredMessage,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        let reply = match (&message.event, &message.child) {
            (Event::PauseRequested { .. } | Event::ResumeRequested { .. }, _) => {
                self.take_passed_on(message, env, now_ms, tx)
            }
            // A cancel ends a paused instance, too.
            (event, _) if self.is_paused() && !matches!(event, Event::CancelRequested { .. }) => {
                self.hold_message(message, env, now_ms, tx)
            }
            (_, Some(_)) if message.is_late_usage() => self.take_late_usage(message, env, tx),
            (_, Some(child)) => self.take_child_result(child, message, env, now_ms, tx),
            (_, None) => self.take_sent(message, env, now_ms, tx),
        };
        // After a store error it is delivered again; otherwise it leaves the inbox in any case.
        if !matches!(reply, Err(InstanceError::Store(_))) {
            tx.commit.taken.push(seq);
        }
        reply
    }

    /// Stores a message until the instance is resumed.
    fn hold_message(
        &mut self,
        message: &StoredMessage,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        let key = message.delivery_key().filter(|_| message.child.is_none());
        if let Some(key) = &key
            && let Some(receipt) = self.handled(key, env, tx)?
        {
            return Ok(receipt);
        }
        let receipt = self.hold(&HeldInput::Message(message.clone()), now_ms, tx);
        self.note_handled(key, tx);
        Ok(receipt)
    }

    /// Handles a message that was held; its key was recorded then.
    pub(super) fn take_released(
        &mut self,
        message: &StoredMessage,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        match &message.child {
            Some(_) if message.is_late_usage() => self.take_late_usage(message, env, tx),
            Some(child) => self.take_child_result(child, message, env, now_ms, tx),
            None => self.take_new(message, None, env, now_ms, tx),
        }
    }

    fn take_sent(
        &mut self,
        message: &StoredMessage,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        let key = message.delivery_key();
        if let Some(key) = &key
            && let Some(receipt) = self.handled(key, env, tx)?
        {
            return Ok(receipt);
        }
        self.take_new(message, key, env, now_ms, tx)
    }

    fn take_new(
        &mut self,
        message: &StoredMessage,
        key: Option<Arc<str>>,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        if self.snapshot.status().is_over() {
            self.return_message(message, now_ms, env, tx);
            self.note_handled(key.clone(), tx);
        }
        self.refuse_if_over()?;
        if let Some(refusal) = self.refused_message(message) {
            let error = InstanceError::EventRefused { id: self.new.id.to_string(), refusal };
            self.record_failure(&message.event, &error.to_string(), now_ms, tx);
            self.note_handled(key, tx);
            return Err(error);
        }
        if !message.is_from(&self.new.id) {
            self.pace.restart();
            self.pace.chain = message.chain;
        } else if !self.may_act_again(env, now_ms, tx) {
            self.note_handled(key, tx);
            return self.fault_with(&message.event, now_ms, tx);
        }
        self.note_undelivered(Some(&message.event), now_ms, tx);
        let receipt = self.deliver(message.event.clone(), env, now_ms, tx);
        // Also if the step failed: the journal has the event and the reason.
        self.note_handled(key, tx);
        if let Err(error) = &receipt {
            self.report_failure(&error.to_string(), env, tx);
        }
        receipt
    }

    /// Why a message does not enter. What a chart does not declare is refused; without declarations, an event that no
    /// state handles is ignored, since a child may emit more than its parent listens to.
    fn refused_message(&self, message: &StoredMessage) -> Option<EventRefusal> {
        let Event::Named(event) = &message.event else { return None };
        if message.is_from(&self.new.id) {
            return own_event_refusal(&self.chart, event);
        }
        let refusal = self.chart.refuse_event(event)?;
        match &refusal {
            EventRefusal::Unknown { declared, .. } if !declared || event.invoke_id.is_some() => None,
            // A driver reports a message that could not be delivered. What charts send has an origin.
            EventRefusal::Reserved { .. } if event.origin.is_null() => None,
            _ => Some(refusal),
        }
    }

    fn take_child_result(
        &mut self,
        child: &str,
        message: &StoredMessage,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        let of = |effect: &OpenEffect| {
            effect.kind == EffectKind::Child && *child_id(&self.new.id, effect) == *child
        };
        let invocation = match &message.event {
            Event::InvokeDone { invocation, .. } | Event::InvokeFailed { invocation, .. } => {
                Some(*invocation)
            }
            _ => None,
        };
        let known = invocation.and_then(|id| self.open_invocation(id)).filter(|at| of(&self.open[*at]));
        let at = known.or_else(|| self.open.position(of));
        let Some(at) = at else {
            if let Some(scopes) = self.ledger.awaited.remove(child) {
                self.spend_late(message.spent, scopes);
                self.pass_on_usage(message, env, tx);
            }
            return Ok(self.receipt(false));
        };
        if !self.open[at].result.is_empty() {
            return Ok(self.receipt(false));
        }
        let place = EffectPlace::of(&self.open[at]);
        let event = self.agent_result(&self.open[at], &message.event, env);
        self.spend(message.spent, self.node_of(self.open[at].invocation));
        if !self.may_end_call(at, Some(&event), env, now_ms, tx) {
            self.keep_result(place, &EffectResult { event: Some(event), note: EffectNote::silent() }, tx);
            return Ok(self.receipt(false));
        }
        self.close_with(at, Some(event), false, env, now_ms, tx)
    }

    /// Usage that a child learned of after it had reported its own: a child of it was stopped by its end.
    fn take_late_usage(
        &mut self,
        message: &StoredMessage,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        let Some(key) = message.delivery_key() else { return Ok(self.receipt(false)) };
        if let Some(receipt) = self.handled(&key, env, tx)? {
            return Ok(receipt);
        }
        self.spend_late(message.spent, Vec::new());
        self.pass_on_usage(message, env, tx);
        self.note_handled(Some(key), tx);
        Ok(self.receipt(false))
    }

    /// An instance that is over has reported its usage already, so its parent gets the rest by itself.
    fn pass_on_usage(&self, message: &StoredMessage, env: &dyn MachineEnvironment, tx: &mut Transaction) {
        let (Some(key), Some(parent)) = (self.parent, &self.new.parent) else { return };
        if !self.snapshot.status().is_over() || message.spent.is_nothing() {
            return;
        }
        let message = StoredMessage {
            event: Event::InvokeFailed { invocation: parent.invocation, error: Value::Null },
            child: Some(Arc::clone(&self.new.id)),
            ..message.clone()
        };
        tx.post(key, env.next_message(), message);
    }

    /// The chart of an agent ended: converts its output to a result or an error.
    fn agent_result(&self, effect: &OpenEffect, event: &Event, env: &dyn MachineEnvironment) -> Event {
        match (event, env.agents()) {
            (Event::InvokeDone { invocation, data }, Some(agents)) if is_agent(effect) => {
                let invocation = *invocation;
                match agents.result(data.clone()) {
                    Ok(data) => Event::InvokeDone { invocation, data },
                    Err(error) => Event::InvokeFailed { invocation, error },
                }
            }
            (event, _) => event.clone(),
        }
    }
}

fn is_agent(effect: &OpenEffect) -> bool {
    ServiceName::of(&effect.name).class == ServiceClass::Agent
}
