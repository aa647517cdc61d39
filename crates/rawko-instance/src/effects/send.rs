//! `Send` and `Emit`: a message to an instance is committed together with the step; a send to the outside is an effect
//! like a call.

use std::sync::Arc;

use rawko_core::{
    Event, Fault, Invocation, NamedEvent, Send, SendTarget, ServiceClass, Status, Value, split_item_name,
};

use super::child::child_id;
use super::{EffectPosition, effect_id};
use crate::consequences::sent_event;
use crate::environment::MachineEnvironment;
use crate::error::StoreError;
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
            // An own event (`Consequence::OwnEvent`).
            SendTarget::Itself => {}
            SendTarget::Parent => match self.listening_parent() {
                Some(parent) => {
                    let origin = invoke.clone().unwrap_or_default();
                    self.post_event(parent, &send, &origin, invoke, at, env, tx);
                }
                // The parent cancelled it and has moved on: its exit actions have no listener, as those of emits.
                None if self.parent.is_some() => {}
                None => self.undeliverable(&send.event, "the instance has no parent", at, tx),
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
            SendTarget::Other(name) => match self.instance_named(name, env, tx) {
                Ok(SendReceiver::Ended) => self.undeliverable(&send.event, &ended(name), at, tx),
                Ok(SendReceiver::Known(key)) => {
                    let origin = Arc::clone(&self.new.id);
                    self.post_event(key, &send, &origin, None, at, env, tx);
                }
                Ok(SendReceiver::Absent) => self.send_outside(send.clone(), Arc::clone(name), at, env, tx),
                Err(error) => self.undeliverable(&send.event, &error.to_string(), at, tx),
            },
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one message")]
    fn post_event(
        &mut self,
        to: InstanceKey,
        send: &Send,
        origin: &str,
        invoke_id: Option<Arc<str>>,
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) {
        self.post_named(to, sent_event(send, origin, invoke_id), at, env, tx);
    }

    pub(super) fn post_named(
        &mut self,
        to: InstanceKey,
        event: NamedEvent,
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) {
        let key = effect_id(&self.new.id, at.step, at.index).into();
        // A message to itself is bounded by the steps without a delay.
        let chain = if to == self.key { self.pace.chain } else { self.pace.chain.next(at.sends) };
        if let Some(why) = chain.exceeded(&env.limits()) {
            return self.undeliverable(&event.name, &why, at, tx);
        }
        let event = Event::Named(event);
        let message = StoredMessage { event, key, child: None, spent: Spent::default(), chain };
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
            return self.undeliverable(&send.event, &absent(&name), at, tx);
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
            Err(error) => self.undeliverable(&send.event, &error.message, at, tx),
        }
    }

    /// Raises `error.communication` in the chart, whose step records the fault. If this step ended the instance, its own
    /// record has it.
    fn undeliverable(&mut self, name: &Arc<str>, why: &str, at: EffectPosition, tx: &mut Transaction) {
        let message = not_sent(name, why);
        if self.snapshot.status().is_over() {
            return tx.faults.push(Fault::of_send(&message));
        }
        let event = communication_error(name, &message, Value::Null);
        // No call was refused, so the audit has nothing to record.
        let note = EffectNote { decision: "".into(), reason: String::new(), outcome_open: false };
        let result = serde_json::to_string(&EffectResult { event: Some(event), note }).unwrap_or_default();
        let effect = self.new_effect(EffectKind::Send, None, Arc::clone(name), at);
        let result = tx.pack(result);
        self.open(OpenEffect { result, ..effect }, tx);
    }

    /// Returns the instance with this id. Itself, its parent and the instances of this commit may not be stored yet.
    fn instance_named(
        &self,
        name: &str,
        env: &dyn MachineEnvironment,
        tx: &Transaction,
    ) -> Result<SendReceiver, StoreError> {
        if *name == *self.new.id {
            return Ok(SendReceiver::Known(self.key));
        }
        let parent = self.new.parent.as_ref().filter(|parent| *parent.id == *name).and(self.parent);
        if let Some(key) = tx.uncommitted.get(name).copied().or(parent) {
            return Ok(SendReceiver::Known(key));
        }
        match env.instance(name)? {
            Some(_) if env.has_ended(name)? => Ok(SendReceiver::Ended),
            Some(key) => Ok(SendReceiver::Known(key)),
            None => Ok(SendReceiver::Absent),
        }
    }

    /// Adds the fault of an event that could not be delivered to the record of the next step. An ended instance takes
    /// none: it has the event as a failed step.
    pub(crate) fn note_undelivered(&mut self, event: Option<&Event>, now_ms: i64, tx: &mut Transaction) {
        let Some((event, message)) = event.and_then(undelivered_message) else { return };
        if self.snapshot.status().is_over() {
            self.record_failure(event, &message, now_ms, tx);
        } else {
            tx.faults.push(Fault::of_send(&message));
        }
    }

    /// Handles a message to this ended instance: reports it to its sender as undelivered.
    pub(crate) fn return_message(
        &mut self,
        message: &StoredMessage,
        now_ms: i64,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) {
        self.note_undelivered(Some(&message.event), now_ms, tx);
        let Event::Named(event) = &message.event else { return };
        // A parent that ended has cancelled its children, and an error of a driver is no message of a chart.
        if event.invoke_id.is_some() || event.origin.is_null() || message.is_from(&self.new.id) {
            return;
        }
        let Some(sender) = message.sender() else { return };
        let Ok(Some(to)) = env.instance(sender) else { return };
        let text = not_sent(&event.name, &ended(&self.new.id));
        let event = communication_error(&event.name, &text, Value::Null);
        let key = format!("{}/returned/{}", self.new.id, message.key).into();
        let chain = message.chain.next(1);
        tx.post(
            to,
            env.next_message(),
            StoredMessage { event, key, child: None, spent: Spent::default(), chain },
        );
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
        &mut self,
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

/// An instance that a send names.
enum SendReceiver {
    Known(InstanceKey),
    Ended,
    Absent,
}

fn ended(name: &str) -> String {
    format!("instance `{name}` has ended")
}

/// Returns the message of an `error.communication` that a driver or another instance reports. What charts send has an
/// origin.
fn undelivered_message(event: &Event) -> Option<(&Event, String)> {
    match event {
        Event::Named(named) if &*named.name == "error.communication" && named.origin.is_null() => {
            Some((event, named.data.get("message").as_str().unwrap_or_default().to_owned()))
        }
        _ => None,
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
