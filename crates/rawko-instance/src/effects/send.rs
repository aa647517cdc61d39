//! `Send` and `Emit`: a message to an instance is committed together with the step; a send to the outside is an effect
//! like a call.

use std::sync::Arc;

use rawko_core::{
    Event, Invocation, NamedEvent, Send, SendTarget, ServiceClass, Status, Value, split_item_name,
};

use super::child::child_id;
use super::{EffectPosition, effect_id};
use crate::environment::MachineEnvironment;
use crate::instance::Instance;
use crate::ledger::Spent;
use crate::message::StoredMessage;
use crate::records::{EffectKind, InstanceKey, OpenEffect};
use crate::result::{EffectNote, EffectResult};
use crate::transaction::{DriverAction, ServiceRequest, Transaction};

impl Instance {
    pub(super) fn plan_send(
        &mut self,
        send: Send,
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) {
        let invoke = self.new.parent.as_ref().map(|parent| Arc::clone(&parent.invoke));
        match &send.target {
            SendTarget::Itself => self.post_event(self.key, &send, "self", None, at, env, tx),
            SendTarget::Parent => match self.listening_parent() {
                Some(parent) => {
                    let origin = invoke.clone().unwrap_or_default();
                    self.post_event(parent, &send, &origin, invoke, at, env, tx);
                }
                None => self.undeliverable(&send, "the instance has no parent", at, tx),
            },
            SendTarget::Invocation(id) => {
                let children = self.children_of(id, env, tx);
                if children.is_empty() {
                    return self.send_outside(send.clone(), Arc::clone(id), at, env, tx);
                }
                for child in children {
                    self.post_event(child, &send, "parent", None, at, env, tx);
                }
            }
            SendTarget::Channel(name) => {
                self.send_outside(send.clone(), ServiceClass::Channel.named(name).into(), at, env, tx);
            }
            SendTarget::Agent(name) => {
                self.send_outside(send.clone(), ServiceClass::Agent.named(name).into(), at, env, tx);
            }
            SendTarget::Other(name) => match env.instance(name) {
                Ok(Some(key)) => {
                    let origin = Arc::clone(&self.new.id);
                    self.post_event(key, &send, &origin, None, at, env, tx);
                }
                Ok(None) => self.send_outside(send.clone(), Arc::clone(name), at, env, tx),
                Err(error) => self.undeliverable(&send, &error.to_string(), at, tx),
            },
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one message")]
    fn post_event(
        &self,
        to: InstanceKey,
        send: &Send,
        origin: &str,
        invoke_id: Option<Arc<str>>,
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) {
        let event = NamedEvent {
            name: Arc::clone(&send.event),
            data: send.data.clone(),
            origin: Value::str(origin),
            send_id: send.send_id.clone(),
            invoke_id,
            item: None,
        };
        self.post_named(to, event, at, env, tx);
    }

    fn post_named(
        &self,
        to: InstanceKey,
        event: NamedEvent,
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) {
        let key = effect_id(&self.new.id, at.step, at.index).into();
        let message = StoredMessage { event: Event::Named(event), key, child: None, spent: Spent::default() };
        tx.post(to, env.next_message(), message);
    }

    fn send_outside(
        &mut self,
        send: Send,
        name: Arc<str>,
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) {
        if !env.has_service(&name, EffectKind::Send) {
            return self.undeliverable(&send, &absent(&name), at, tx);
        }
        let effect = OpenEffect {
            body: tx.pack(serde_json::to_string(&send).unwrap_or_default()),
            ..self.new_effect(EffectKind::Send, None, name, at)
        };
        match self.ask_gate(&effect, &send.data, &Value::Null, at, env, tx) {
            Ok(()) => {
                self.open(effect.clone(), tx);
                tx.actions.push(DriverAction::Run { effect, request: ServiceRequest::Send(send) });
            }
            Err(error) => self.undeliverable(&send, &error.message, at, tx),
        }
    }

    /// Raises `error.communication` in the chart, unless this step ended it.
    fn undeliverable(&mut self, send: &Send, why: &str, at: EffectPosition, tx: &mut Transaction) {
        if self.snapshot.status().is_over() {
            return;
        }
        let event = communication_error(&send.event, &not_sent(&send.event, why), Value::Null);
        // No call was refused, so the audit has nothing to record.
        let note = EffectNote { decision: "".into(), reason: String::new(), outcome_open: false };
        let result = serde_json::to_string(&EffectResult { event: Some(event), note }).unwrap_or_default();
        let effect = self.new_effect(EffectKind::Send, None, Arc::clone(&send.event), at);
        let result = tx.pack(result);
        self.open(OpenEffect { result, ..effect }, tx);
    }

    /// Returns the running children with this invoke id: one, one item of an `each`, or all items of it.
    fn children_of(&self, invoke: &str, env: &dyn MachineEnvironment, tx: &Transaction) -> Vec<InstanceKey> {
        let is_wanted = |known: &Invocation| {
            let name = self.chart.invocation_name(known);
            *name == *invoke || split_item_name(&name).is_some_and(|(whole, _)| whole == invoke)
        };
        let child = |known: Invocation| {
            let effect = &self.open[self.open_invocation(known.id)?];
            let is_running = effect.kind == EffectKind::Child && effect.result.is_empty();
            is_running.then(|| self.key_of_child(&child_id(&self.new.id, effect), env, tx)).flatten()
        };
        self.snapshot.pending().filter(is_wanted).filter_map(child).collect()
    }

    pub(super) fn plan_emit(
        &self,
        name: Arc<str>,
        data: Value,
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) {
        // External listeners read it from the journal.
        let Some(parent) = self.listening_parent() else { return };
        let invoke = self.new.parent.as_ref().map(|parent| Arc::clone(&parent.invoke)).unwrap_or_default();
        let origin = Value::Str(Arc::clone(&invoke));
        let event = NamedEvent { name, data, origin, send_id: None, invoke_id: Some(invoke), item: None };
        self.post_named(parent, event, at, env, tx);
    }

    /// Returns the parent, unless it cancelled this child: the exit actions run, but the parent has moved on.
    fn listening_parent(&self) -> Option<InstanceKey> {
        self.parent.filter(|_| self.snapshot.status() != Status::Cancelled)
    }
}

fn absent(name: &str) -> String {
    format!("there is no instance, running invoke or endpoint `{name}`")
}

fn not_sent(event: &str, why: &str) -> String {
    format!("`{event}` could not be sent: {why}")
}

/// Returns the sender's `error.communication` for a message to an instance that does not exist.
pub fn undelivered(event: &str, name: &str) -> Event {
    communication_error(event, &not_sent(event, &absent(name)), Value::Null)
}

/// Returns `error.communication` with the failed operation.
pub(crate) fn communication_error(name: &str, message: &str, details: Value) -> Event {
    let mut data = vec![("name", Value::str(name)), ("message", Value::str(message))];
    if !details.is_null() {
        data.push(("error", details));
    }
    Event::named("error.communication", Value::map(data))
}
