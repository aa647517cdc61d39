//! Running a service for an effect: a task of its own, whose answer comes back as a delivery. Whoever stops the effect
//! drops the task.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rawko_core::{Event, Value};
use rawko_store::{EffectKind, OpenEffect};
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use super::send::trouble;
use crate::host::Inner;
use crate::instance::delivery::{Delivery, EffectNote, Source};
use crate::instance::plan::Request;
use crate::observer::{CallWatch, Observer};
use crate::planning::Project;
use crate::progress::{Progress, Teller};
use crate::services::{Call, Category, OnRestart, Service, ServiceError};
use crate::warden::Warden;

/// How an effect ended, as its instance hears it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffectResult {
    /// `None`: nobody waited, and there is nothing to tell.
    pub event: Option<Event>,
    pub note: EffectNote,
}

impl EffectResult {
    pub fn of(effect: &OpenEffect, result: Result<Value, ServiceError>) -> Self {
        let note = match &result {
            Ok(_) => EffectNote { decision: "answered".into(), reason: String::new(), outcome_open: false },
            Err(error) => EffectNote {
                decision: "failed".into(),
                reason: format!("{}: {}", error.category.as_str(), error.message),
                outcome_open: error.outcome_open(),
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
        Self { event, note }
    }
}

/// A call that is about to be made.
pub struct Running {
    service: Arc<dyn Service>,
    call: Call,
}

impl Running {
    /// Makes the call. Dropping the future stops it. `None`: the runtime is going away.
    pub async fn answer(self) -> Option<Result<Value, ServiceError>> {
        if let Some(result) = self.at_once() {
            return Some(result);
        }
        let Self { service, call } = self;
        // A service that panics has failed; the instance goes on.
        let answer = tokio::spawn(async move { service.call(call).await });
        let _guard = AbortOnDrop(answer.abort_handle());
        match answer.await {
            Ok(result) => Some(result),
            Err(error) if error.is_panic() => Some(Err(crashed())),
            Err(_) => None,
        }
    }

    /// The same, and an observer is told of it. Dropped, it was stopped.
    pub async fn answer_observed(
        self,
        effect: &OpenEffect,
        observer: Option<&Arc<dyn Observer>>,
    ) -> Option<Result<Value, ServiceError>> {
        let watch = CallWatch::begin(observer, effect, &self.call);
        let answer = self.answer().await;
        if let Some(result) = &answer {
            CallWatch::over(watch, result);
        }
        answer
    }

    /// The answer of a plain function.
    fn at_once(&self) -> Option<Result<Value, ServiceError>> {
        catch_unwind(AssertUnwindSafe(|| self.service.at_once(&self.call)))
            .unwrap_or_else(|_| Some(Err(crashed())))
    }
}

fn crashed() -> ServiceError {
    ServiceError::new(Category::Host, "the service crashed")
}

impl Project {
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

    /// The call that an effect of an instance asks for.
    pub fn prepare(
        &self,
        effect: &OpenEffect,
        instance: &Arc<str>,
        request: Request,
        watchers: &broadcast::Sender<Progress>,
        warden: Warden,
    ) -> Result<Running, ServiceError> {
        let Some(service) = self.find_service(&effect.name, effect.kind) else {
            let message = format!("there is no service `{}` in the settings", effect.name);
            return Err(ServiceError::new(Category::Unknown, message));
        };
        let (id, input, attempt, policy) = asked(request);
        let (idempotency, name) = (Arc::clone(&effect.idempotency), Arc::clone(&effect.name));
        let teller = Teller::new(watchers, instance, &id, &name, effect.step);
        let instance = Arc::clone(instance);
        let call = Call { idempotency, instance, id, name, input, attempt, policy, teller, warden };
        Ok(Running { service, call })
    }

    /// Whether a call whose outcome nobody knows may be made again.
    pub fn may_repeat(&self, effect: &OpenEffect, request: &Request) -> bool {
        let Some(service) = self.find_service(&effect.name, effect.kind) else { return false };
        let on_restart = match request {
            Request::Invoke(invoke) => service.on_restart_of(&effect.name, &invoke.input),
            Request::Call { .. } | Request::Send(_) => service.on_restart(),
        };
        on_restart == OnRestart::Retry
    }
}

impl Inner {
    pub(crate) fn run(self: &Arc<Self>, effect: OpenEffect, instance: Arc<str>, request: Request) {
        let warden = Warden::of(self, effect.instance, &instance, effect.name.strip_prefix("agent:"));
        let running = match self.project.prepare(&effect, &instance, request, &self.watchers, warden) {
            Ok(running) => running,
            Err(error) => return self.fail(&effect, &error),
        };
        let watch = CallWatch::begin(self.observer.as_ref(), &effect, &running.call);
        if let Some(result) = running.at_once() {
            CallWatch::over(watch, &result);
            return self.answered(&effect, result);
        }
        let place = (effect.instance, effect.step, effect.index);
        let host = Arc::clone(self);
        // Registered before it can finish: the entry is removed by the task itself.
        let mut table = self.running();
        let task = self.runtime.spawn(async move {
            let answer = running.answer().await;
            host.running().remove(&place);
            if let Some(result) = answer {
                CallWatch::over(watch, &result);
                host.answered(&effect, result);
            }
        });
        table.insert(place, task.abort_handle());
    }

    /// An effect that cannot be run answers with its failure.
    pub(crate) fn fail(self: &Arc<Self>, effect: &OpenEffect, error: &ServiceError) {
        self.tell_failed(effect, error);
        self.answered(effect, Err(error.clone()));
    }

    fn answered(self: &Arc<Self>, effect: &OpenEffect, result: Result<Value, ServiceError>) {
        let EffectResult { event, note } = EffectResult::of(effect, result);
        let source = Source::Effect { step: effect.step, index: effect.index, note };
        let delivery = Delivery { event, source, reply: None };
        if let Err(error) = self.post(effect.instance, delivery) {
            self.complain(effect.instance, &error);
        }
    }
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
