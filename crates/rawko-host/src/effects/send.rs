//! `Send` and `Emit`: to another instance the event is committed together with the step; to the world it is an effect
//! like a call.

use std::sync::Arc;

use rawko_core::{Event, NamedEvent, Send, SendTarget, Status, Value};
use rawko_store::{EffectKind, InstanceKey, OpenEffect};

use super::child::child_id;
use super::invoke::open;
use super::{At, effect_id};
use crate::instance::Live;
use crate::instance::delivery::Letter;
use crate::instance::plan::{Plan, Request, Work};
use crate::ledger::Spent;
use crate::planning::Planner;

impl Planner<'_> {
    pub(super) fn plan_send(&self, live: &mut Live, send: Send, at: At, plan: &mut Plan) {
        let invoke = live.new.parent.as_ref().map(|parent| Arc::clone(&parent.invoke));
        match &send.target {
            SendTarget::Itself => self.post_event(at.key, &send, "self", None, plan),
            SendTarget::Parent => match listening_parent(live) {
                Some(parent) => {
                    let origin = invoke.clone().unwrap_or_default();
                    self.post_event(parent, &send, &origin, invoke, plan);
                }
                None => self.undeliverable(live, &send, "it has no parent that listens", at, plan),
            },
            SendTarget::Invocation(id) => match self.child_of(live, id) {
                Some(child) => self.post_event(child, &send, "parent", None, plan),
                None => self.send_outside(live, send.clone(), Arc::clone(id), at, plan),
            },
            SendTarget::Channel(name) => {
                self.send_outside(live, send.clone(), format!("channel:{name}").into(), at, plan);
            }
            SendTarget::Agent(name) => {
                self.send_outside(live, send.clone(), format!("agent:{name}").into(), at, plan);
            }
            SendTarget::Other(name) => match self.around.instance(name) {
                Ok(Some(key)) => {
                    let origin = Arc::clone(&live.new.id);
                    self.post_event(key, &send, &origin, None, plan);
                }
                Ok(None) => self.send_outside(live, send.clone(), Arc::clone(name), at, plan),
                Err(error) => self.undeliverable(live, &send, &error.to_string(), at, plan),
            },
        }
    }

    fn post_event(
        &self,
        to: InstanceKey,
        send: &Send,
        origin: &str,
        invoke_id: Option<Arc<str>>,
        plan: &mut Plan,
    ) {
        let event = Event::Named(NamedEvent {
            name: Arc::clone(&send.event),
            data: send.data.clone(),
            origin: Value::str(origin),
            send_id: send.send_id.clone(),
            invoke_id,
        });
        plan.post(to, self.around.next_inbound(), Letter { event, child: None, spent: Spent::default() });
    }

    fn send_outside(&self, live: &mut Live, send: Send, name: Arc<str>, at: At, plan: &mut Plan) {
        if self.project.find_service(&name, EffectKind::Send).is_none() {
            return self.undeliverable(live, &send, &nobody(&name), at, plan);
        }
        let effect = OpenEffect {
            instance: at.key,
            step: at.step,
            index: at.index,
            kind: EffectKind::Send,
            invocation: None,
            name,
            body: plan.pack(serde_json::to_string(&send).unwrap_or_default()),
            opened_ms: at.ms,
            due_ms: None,
            idempotency: effect_id(&live.new.id, at.step, at.index).into(),
        };
        match self.ask_gate(live, &effect, &send.data, &Value::Null, at, plan) {
            Ok(()) => {
                open(live, effect.clone(), plan);
                plan.work.push(Work::Run { effect, request: Request::Send(send) });
            }
            Err(error) => self.undeliverable(live, &send, &error.message, at, plan),
        }
    }

    /// The chart hears of it as `error.communication`.
    fn undeliverable(&self, live: &Live, send: &Send, why: &str, at: At, plan: &mut Plan) {
        self.post_trouble(live, &send.event, &not_sent(&send.event, why), at.key, plan);
    }

    pub(super) fn post_trouble(
        &self,
        live: &Live,
        name: &str,
        message: &str,
        to: InstanceKey,
        plan: &mut Plan,
    ) {
        if live.snapshot.status().is_over() {
            return;
        }
        let event = trouble(name, message, Value::Null);
        plan.post(to, self.around.next_inbound(), Letter { event, child: None, spent: Spent::default() });
    }

    /// The key of the running child with this invoke id.
    fn child_of(&self, live: &Live, invoke: &str) -> Option<InstanceKey> {
        let running = live.snapshot.invocations().iter();
        let children = live.open.iter().filter(|effect| effect.kind == EffectKind::Child);
        let wanted = running
            .filter(|known| live.chart.invoke_name(known.invoke) == invoke)
            .map(|known| known.id)
            .next()?;
        let effect = children.into_iter().find(|effect| effect.invocation == Some(wanted))?;
        self.around.child(&child_id(&live.new.id, effect)).ok().flatten()
    }

    pub(super) fn plan_emit(&self, live: &Live, name: Arc<str>, data: Value, plan: &mut Plan) {
        // Who listens from outside reads it in the journal.
        let Some(parent) = listening_parent(live) else { return };
        let invoke = live.new.parent.as_ref().map(|parent| Arc::clone(&parent.invoke)).unwrap_or_default();
        let event = Event::Named(NamedEvent {
            name,
            data,
            origin: Value::Str(Arc::clone(&invoke)),
            send_id: None,
            invoke_id: Some(invoke),
        });
        plan.post(parent, self.around.next_inbound(), Letter { event, child: None, spent: Spent::default() });
    }
}

fn nobody(name: &str) -> String {
    format!("there is no instance, running invoke or endpoint `{name}`")
}

fn not_sent(event: &str, why: &str) -> String {
    format!("`{event}` could not be sent: {why}")
}

/// What the sender hears of an event for somebody who is not there.
pub fn returned(event: &str, name: &str) -> Event {
    trouble(event, &not_sent(event, &nobody(name)), Value::Null)
}

/// `error.communication`, with what could not be done.
pub(crate) fn trouble(name: &str, message: &str, details: Value) -> Event {
    let mut data = vec![("name", Value::str(name)), ("message", Value::str(message))];
    if !details.is_null() {
        data.push(("error", details));
    }
    Event::named("error.communication", Value::map(data))
}

/// Whom a child speaks to. Once it is cancelled nobody listens: its exit actions run, but the parent has moved on.
fn listening_parent(live: &Live) -> Option<InstanceKey> {
    live.parent.filter(|_| live.snapshot.status() != Status::Cancelled)
}
