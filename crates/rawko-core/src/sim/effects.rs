//! What the simulation does with each effect. The same seam as a host's, in virtual time.

use std::sync::Arc;

use super::{Emitted, Invoked, Sent, Simulation};
use crate::effect::{Effect, Invoke, Send, SendTarget};
use crate::event::{Event, NamedEvent};
use crate::snapshot::Status;
use crate::value::Value;

impl Simulation {
    pub(super) fn carry_out(&mut self, from: usize, effect: Effect) {
        match effect {
            Effect::SetTimer { timer, due_ms } => self.agenda.put(due_ms, from, Event::TimerFired { timer }),
            Effect::CancelTimer { timer } => self.agenda.drop_timer(from, timer),
            Effect::Invoke(invoke) => self.invoke(from, invoke),
            Effect::StopInvoke { invocation, .. } => self.stop_invoke(from, invocation),
            Effect::Send(send) => self.send(from, send),
            Effect::Emit { event, data } => self.emit(from, event, data),
            Effect::Call { handler, params } => self.call(from, handler, params),
            Effect::Fault(fault) => self.line.faults.push(fault),
            Effect::Log { message } => self.line.log.push(message.to_string()),
            Effect::Complete { output } => self.complete(from, output),
            Effect::Cancelled { .. } => {}
            Effect::Stall { error, .. } => self.stall(from, error),
        }
    }

    fn invoke(&mut self, from: usize, invoke: Invoke) {
        if from == 0 {
            self.line.invoked.push(Invoked {
                id: Some(invoke.id.to_string()),
                src: invoke.src.to_string(),
                input: invoke.input.clone(),
            });
        }
        if let Some(answer) = self.stubs.answer(&invoke.id, &invoke.src) {
            let due_ms = self.now_ms.saturating_add(i64::try_from(answer.after_ms).unwrap_or(i64::MAX));
            let invocation = invoke.invocation;
            let event = match answer.result {
                Ok(data) => Event::InvokeDone { invocation, data },
                Err(error) => Event::InvokeFailed { invocation, error },
            };
            return self.agenda.put(due_ms, from, event);
        }
        // Neither stubbed nor known: it waits for `done.invoke.<id>` from the stimuli.
        let Some(chart) = self.resolve(&invoke.src) else { return };
        let parent = Some((from, invoke.invocation, invoke.id));
        if let Err(error) = self.start_instance(chart, invoke.input, parent) {
            let error = Value::map([
                ("category", Value::str("execution")),
                ("message", Value::from(error.to_string())),
            ]);
            self.mailbox.push_back((from, Event::InvokeFailed { invocation: invoke.invocation, error }));
        }
    }

    fn stop_invoke(&mut self, from: usize, invocation: u64) {
        self.agenda.drop_answer(from, invocation);
        if let Some(child) = self.child(from, |_, of| of == invocation) {
            // At once, not through the mailbox: a stopped child hears nothing that was still on its way.
            self.deliver(child, Event::CancelRequested { reason: Value::str("the parent left the state") });
        }
    }

    /// The running child of an instance, by invoke id or invocation.
    fn child(&self, parent: usize, is: impl Fn(&str, u64) -> bool) -> Option<usize> {
        self.instances.iter().position(|instance| {
            let running = !instance.snapshot.status().is_over();
            running && matches!(&instance.parent, Some((of, invocation, id)) if *of == parent && is(id, *invocation))
        })
    }

    fn send(&mut self, from: usize, send: Send) {
        let Send { target, event: name, data, send_id } = send;
        if from == 0 {
            self.line.sent.push(Sent {
                target: target_text(&target),
                name: name.to_string(),
                data: data.clone(),
            });
        }
        let event = |origin: &str, invoke_id: Option<Arc<str>>| NamedEvent {
            name,
            data,
            origin: Value::str(origin),
            send_id,
            invoke_id,
        };
        match target {
            SendTarget::Itself => self.send_from_outside(from, event("self", None)),
            SendTarget::Parent => {
                if let Some((parent, _, id)) = self.listening_parent(from) {
                    let event = event(&id, Some(Arc::clone(&id)));
                    self.send_from_outside(parent, event);
                }
            }
            SendTarget::Invocation(id) => {
                if let Some(child) = self.child(from, |known, _| known == &*id) {
                    self.send_from_outside(child, event("parent", None));
                }
            }
            // Outside the simulation; `sent` tells.
            SendTarget::Channel(_) | SendTarget::Agent(_) | SendTarget::Other(_) => {}
        }
    }

    /// Whom a child speaks to. Once it is cancelled nobody listens: its exit actions run, but the parent has moved on.
    fn listening_parent(&self, child: usize) -> Option<(usize, u64, Arc<str>)> {
        let instance = &self.instances[child];
        instance.parent.clone().filter(|_| instance.snapshot.status() != Status::Cancelled)
    }

    /// To the parent, where there is one; from the simulated instance to whoever listens.
    fn emit(&mut self, from: usize, event: Arc<str>, data: Value) {
        match self.listening_parent(from) {
            None if from == 0 => self.line.emitted.push(Emitted { name: event.to_string(), data }),
            None => {}
            Some((parent, _, id)) => {
                let event = NamedEvent {
                    name: event,
                    data,
                    origin: Value::Str(Arc::clone(&id)),
                    send_id: None,
                    invoke_id: Some(id),
                };
                self.send_from_outside(parent, event);
            }
        }
    }

    fn call(&mut self, from: usize, handler: Arc<str>, params: Value) {
        if from == 0 {
            self.line.invoked.push(Invoked { id: None, src: handler.to_string(), input: params });
        }
    }

    fn complete(&mut self, from: usize, output: Value) {
        if let Some((parent, invocation, _)) = self.instances[from].parent.clone() {
            self.mailbox.push_back((parent, Event::InvokeDone { invocation, data: output }));
        }
    }

    /// A child that nobody can help in here has failed for its parent.
    fn stall(&mut self, from: usize, error: Value) {
        if let Some((parent, invocation, _)) = self.instances[from].parent.clone() {
            self.mailbox.push_back((parent, Event::InvokeFailed { invocation, error }));
        }
    }
}

/// The target as an author writes it.
fn target_text(target: &SendTarget) -> String {
    match target {
        SendTarget::Itself => "self".to_owned(),
        SendTarget::Parent => "parent".to_owned(),
        SendTarget::Invocation(name) | SendTarget::Other(name) => name.to_string(),
        SendTarget::Channel(name) => format!("channel:{name}"),
        SendTarget::Agent(name) => format!("agent:{name}"),
    }
}
