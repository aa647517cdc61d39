//! Running a service for an effect: a task of its own, whose answer comes back as a delivery. Whoever stops the effect
//! drops the task.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rawko_core::{Event, Value};
use rawko_store::{EffectKind, OpenEffect};

use super::send::trouble;
use crate::host::Inner;
use crate::instance::delivery::{Delivery, EffectNote, Source};
use crate::instance::plan::Request;
use crate::observer::CallWatch;
use crate::progress::Teller;
use crate::services::{Call, Category, Service, ServiceError};
use crate::warden::Warden;

impl Inner {
    /// The service that an effect's name means. Sends go to endpoints, everything else to services.
    pub(crate) fn find_service(&self, name: &str, kind: EffectKind) -> Option<Arc<dyn Service>> {
        match kind {
            EffectKind::Send => self.endpoints.find(name),
            EffectKind::Service
            | EffectKind::Agent
            | EffectKind::Call
            | EffectKind::Child
            | EffectKind::Person
            | EffectKind::Unknown => self.services.find(name),
        }
    }

    pub(crate) fn run(self: &Arc<Self>, effect: OpenEffect, instance: Arc<str>, request: Request) {
        let Some(service) = self.find_service(&effect.name, effect.kind) else {
            let message = format!("there is no service `{}` in the settings", effect.name);
            return self.fail(&effect, &ServiceError::new(Category::Unknown, message));
        };
        let call = self.call_of(&effect, instance, request);
        let watch = self.watch_call(&effect, &call);
        if let Some(result) = at_once(&*service, &call) {
            CallWatch::over(watch, &result);
            return self.answered(&effect, result);
        }
        let place = (effect.instance, effect.step, effect.index);
        let host = Arc::clone(self);
        // Registered before it can finish: the entry is removed by the task itself.
        let mut running = self.running();
        let task = self.runtime.spawn(async move {
            // A service that panics has failed; the instance goes on.
            let answer = tokio::spawn(service.call(call));
            let guard = AbortOnDrop(answer.abort_handle());
            let result = answer.await;
            drop(guard);
            host.running().remove(&place);
            match result {
                Ok(result) => {
                    CallWatch::over(watch, &result);
                    host.answered(&effect, result);
                }
                Err(error) if error.is_panic() => {
                    let result = Err(ServiceError::new(Category::Host, "the service crashed"));
                    CallWatch::over(watch, &result);
                    host.answered(&effect, result);
                }
                Err(_) => {}
            }
        });
        running.insert(place, task.abort_handle());
    }

    fn call_of(self: &Arc<Self>, effect: &OpenEffect, instance: Arc<str>, request: Request) -> Call {
        let (id, input, attempt, policy) = asked(request);
        let (idempotency, name) = (Arc::clone(&effect.idempotency), Arc::clone(&effect.name));
        let teller = Teller::new(&self.watchers, &instance, &id, &name);
        let warden = Warden::new(self, effect.instance, &instance, name.strip_prefix("agent:"));
        Call { idempotency, instance, id, name, input, attempt, policy, teller, warden }
    }

    /// An effect that cannot be run answers with its failure.
    pub(crate) fn fail(self: &Arc<Self>, effect: &OpenEffect, error: &ServiceError) {
        self.tell_failed(effect, error);
        self.answered(effect, Err(error.clone()));
    }

    fn answered(self: &Arc<Self>, effect: &OpenEffect, result: Result<Value, ServiceError>) {
        let note = match &result {
            Ok(_) => EffectNote { decision: "answered", reason: String::new(), outcome_open: false },
            Err(error) => EffectNote {
                decision: "failed",
                reason: format!("{}: {}", error.category.as_str(), error.message),
                outcome_open: error.category.leaves_outcome_open(),
            },
        };
        let event = match (effect.invocation, result) {
            (Some(invocation), Ok(data)) => Some(Event::InvokeDone { invocation, data }),
            (Some(invocation), Err(error)) => {
                Some(Event::InvokeFailed { invocation, error: error.to_value() })
            }
            (None, Ok(_)) => None,
            (None, Err(error)) => Some(trouble(&effect.name, &error.message, error.to_value())),
        };
        let source = Source::Effect { step: effect.step, index: effect.index, note };
        let delivery = Delivery { event, source, reply: None };
        if let Err(error) = self.post(effect.instance, delivery) {
            self.complain(effect.instance, &error);
        }
    }
}

/// The answer of a plain function. One that panics has failed; the instance goes on.
fn at_once(service: &dyn Service, call: &Call) -> Option<Result<Value, ServiceError>> {
    catch_unwind(AssertUnwindSafe(|| service.at_once(call)))
        .unwrap_or_else(|_| Some(Err(ServiceError::new(Category::Host, "the service crashed"))))
}

/// Stops the inner task when the outer one is stopped.
struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What a request asks for: the id, the input, the attempt and the policy of its call.
fn asked(request: Request) -> (Arc<str>, Value, u32, Value) {
    match request {
        Request::Invoke(invoke) => (invoke.id, invoke.input, invoke.attempt, invoke.policy),
        Request::Call { handler, params } => (handler, params, 1, Value::Null),
        Request::Send(send) => {
            let input = Value::map([("type", Value::Str(Arc::clone(&send.event))), ("data", send.data)]);
            (send.event, input, 1, Value::Null)
        }
    }
}
