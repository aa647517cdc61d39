//! Observes a call from begin to end, whether it ends with a result, an error, or by being dropped.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use rawko_core::Value;
use rawko_instance::{Category, ServiceError, Spent};
use rawko_store::OpenEffect;

use super::commits::{error_word, word};
use super::{CallOutcome, FinishedCall, HostEvent, ObservedCall, Observer};
use crate::host::HostInner;
use crate::services::ServiceCall;

/// A running call. Dropping it without a result reports it as stopped.
pub(crate) struct CallWatch {
    observer: Arc<dyn Observer>,
    calling: Arc<ObservedCall>,
    from: Instant,
    is_over: bool,
}

impl CallWatch {
    /// Returns `None` without an observer.
    pub(crate) fn begin(
        observer: Option<&Arc<dyn Observer>>,
        effect: &OpenEffect,
        call: &ServiceCall,
    ) -> Option<CallWatch> {
        let observer = Arc::clone(observer?);
        let input = observer.wants_content().then(|| said(call.input.get("call").get("input"), &call.input));
        let calling = Arc::new(ObservedCall {
            id: Arc::clone(&call.id),
            attempt: call.attempt,
            agent: word(call.policy.get("agent")),
            tool_call: word(call.input.get("call").get("id")),
            input,
            ..bare(effect, Arc::clone(&call.instance), SystemTime::now())
        });
        observer.observe(HostEvent::Calling(Arc::clone(&calling)));
        Some(CallWatch { observer, calling, from: Instant::now(), is_over: false })
    }

    pub(crate) fn over(watch: Option<Self>, result: &Result<Value, ServiceError>) {
        let Some(mut watch) = watch else { return };
        watch.is_over = true;
        let (outcome, spent) = match result {
            Ok(data) if *data.get("result").get("is_error") == Value::Bool(true) => {
                (CallOutcome::Complained, Spent::of(data.get("usage")))
            }
            Ok(data) => (CallOutcome::Answered, Spent::of(data.get("usage"))),
            Err(error) => (failed(error), Spent::of(error.details.get("usage"))),
        };
        let output = result.as_ref().ok().filter(|_| watch.observer.wants_content());
        let output = output.map(|data| said(data.get("result").get("content"), data));
        watch.tell(outcome, spent, output);
    }

    fn tell(&self, outcome: CallOutcome, spent: Spent, output: Option<String>) {
        let calling = Arc::clone(&self.calling);
        let took = self.from.elapsed();
        self.observer.observe(HostEvent::Called(FinishedCall { calling, took, outcome, spent, output }));
    }
}

impl Drop for CallWatch {
    fn drop(&mut self) {
        if !self.is_over {
            self.tell(CallOutcome::Stopped, Spent::default(), None);
        }
    }
}

impl HostInner {
    /// Reports the failure of a call that never began, or that another host began.
    pub(crate) fn tell_failed(&self, effect: &OpenEffect, error: &ServiceError) {
        if self.observer.is_some() {
            let instance = self.slot(effect.instance).map(|slot| Arc::clone(&slot.id)).unwrap_or_default();
            self.tell([not_called(effect, instance, error)]);
        }
    }
}

/// Returns the observation of a call that never began, or that another host began.
pub fn not_called(effect: &OpenEffect, instance: Arc<str>, error: &ServiceError) -> HostEvent {
    let opened = u64::try_from(effect.opened_ms).unwrap_or(0);
    let opened = SystemTime::UNIX_EPOCH + Duration::from_millis(opened);
    let started = if error.category == Category::Interrupted { opened } else { SystemTime::now() };
    HostEvent::Called(FinishedCall {
        calling: Arc::new(bare(effect, instance, started)),
        took: started.elapsed().unwrap_or_default(),
        outcome: failed(error),
        spent: Spent::default(),
        output: None,
    })
}

/// Returns the relevant part of a tool's input or output as text, or the whole value if that part is null.
fn said(part: &Value, whole: &Value) -> String {
    let said = if part.is_null() { whole } else { part };
    serde_json::to_string(said).unwrap_or_default()
}

fn failed(error: &ServiceError) -> CallOutcome {
    let code = error_word(&error.details).unwrap_or_else(|| error.category.as_str().into());
    CallOutcome::Failed { code, message: error.message.clone() }
}

/// Returns the properties of a call that its effect holds.
fn bare(effect: &OpenEffect, instance: Arc<str>, started: SystemTime) -> ObservedCall {
    ObservedCall {
        instance,
        step: effect.step,
        index: effect.index,
        kind: effect.kind,
        name: Arc::clone(&effect.name),
        id: Arc::default(),
        idempotency: Arc::clone(&effect.idempotency),
        attempt: 1,
        agent: None,
        tool_call: None,
        started,
        input: None,
    }
}
