//! Calls of services: made after the commit that requested them, with the result delivered as an input. Stopping an
//! effect drops its task.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rawko_core::{ServiceClass, ServiceName, Value};
use rawko_instance::{Category, EffectPlace, EffectResult, Input, ServiceError, ServiceRequest};
use rawko_store::OpenEffect;

use super::drain::DrainingCall;
use super::slot::MailboxDelivery;
use crate::contents::ContentReader;
use crate::host::HostInner;
use crate::observer::{CallWatch, Observer};
use crate::runtime_gate::RuntimeGate;
use crate::services::{Service, ServiceCall};

/// A call that is about to be made.
pub struct PreparedCall {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) call: ServiceCall,
}

impl PreparedCall {
    /// Makes the call. Dropping the future stops it. Returns `None` if the runtime is shutting down.
    pub async fn answer(self) -> Option<Result<Value, ServiceError>> {
        if let Some(result) = self.at_once() {
            return Some(result);
        }
        let Self { service, call } = self;
        // A panic in a service is a failed call; the instance continues.
        let answer = tokio::spawn(async move { service.call(call).await });
        let _guard = AbortCallOnDrop(answer.abort_handle());
        match answer.await {
            Ok(result) => Some(result),
            Err(error) if error.is_panic() => Some(Err(crashed())),
            Err(_) => None,
        }
    }

    /// Like [`PreparedCall::answer`], reported to an observer. Dropping the future reports the call as stopped.
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

    /// Returns the result of a plain function.
    fn at_once(&self) -> Option<Result<Value, ServiceError>> {
        catch_unwind(AssertUnwindSafe(|| self.service.at_once(&self.call)))
            .unwrap_or_else(|_| Some(Err(crashed())))
    }
}

fn crashed() -> ServiceError {
    ServiceError::new(Category::Host, "the service crashed")
}

impl HostInner {
    pub(crate) fn run(self: &Arc<Self>, effect: OpenEffect, instance: Arc<str>, request: ServiceRequest) {
        let runtime_gate = RuntimeGate::of(
            self,
            effect.instance,
            &instance,
            ServiceName::member_of(&effect.name, ServiceClass::Agent),
        );
        let may_repeat = self.project.may_repeat(&effect, &request);
        let handles = (runtime_gate, ContentReader::of_store(self.reader.store()));
        let running = match self.project.prepare(&effect, &instance, request, &self.watchers, handles) {
            Ok(running) => running,
            Err(error) => return self.fail(&effect, &error),
        };
        let watch = CallWatch::begin(self.observer.as_ref(), &effect, &running.call);
        if let Some(result) = running.at_once() {
            CallWatch::over(watch, &result);
            return self.answered(&effect, result);
        }
        let place = (effect.instance, EffectPlace::of(&effect));
        let host = Arc::clone(self);
        // Registered before the call can finish: the task itself removes the entry.
        let mut table = self.running();
        let task = self.runtime.spawn(async move {
            let answer = running.answer().await;
            host.running().remove(&place);
            if let Some(result) = answer {
                CallWatch::over(watch, &result);
                host.answered(&effect, result);
            }
        });
        table.insert(place, DrainingCall { task: task.abort_handle(), may_repeat });
    }

    /// Delivers the failure of an effect that cannot be run as its result.
    pub(crate) fn fail(self: &Arc<Self>, effect: &OpenEffect, error: &ServiceError) {
        self.tell_failed(effect, error);
        self.answered(effect, Err(error.clone()));
    }

    fn answered(self: &Arc<Self>, effect: &OpenEffect, result: Result<Value, ServiceError>) {
        let result = EffectResult::of(effect, result);
        let input = Input::Result { effect: EffectPlace::of(effect), result };
        self.post_or_complain(effect.instance, MailboxDelivery::unawaited(input));
    }
}

/// Stops the inner task when the outer one is stopped.
struct AbortCallOnDrop(tokio::task::AbortHandle);

impl Drop for AbortCallOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
