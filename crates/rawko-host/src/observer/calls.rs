//! Observes a call from begin to end, whether it ends with a result, an error, or by being dropped.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use rawko_core::Value;
use rawko_instance::{Category, ServiceError, Spent};
use rawko_store::OpenEffect;

use super::commits::{error_word, word};
use super::{Called, Calling, Observation, Observer, Outcome};
use crate::host::Inner;
use crate::services::Call;

/// A running call. Dropping it without a result reports it as stopped.
pub(crate) struct CallWatch {
    observer: Arc<dyn Observer>,
    calling: Arc<Calling>,
    from: Instant,
    is_over: bool,
}

impl CallWatch {
    /// Returns `None` without an observer.
    pub(crate) fn begin(
        observer: Option<&Arc<dyn Observer>>,
        effect: &OpenEffect,
        call: &Call,
    ) -> Option<CallWatch> {
        let observer = Arc::clone(observer?);
        let input = observer.wants_content().then(|| said(call.input.get("call").get("input"), &call.input));
        let calling = Arc::new(Calling {
            id: Arc::clone(&call.id),
            attempt: call.attempt,
            agent: word(call.policy.get("agent")),
            tool_call: word(call.input.get("call").get("id")),
            input,
            ..bare(effect, Arc::clone(&call.instance), SystemTime::now())
        });
        observer.observe(Observation::Calling(Arc::clone(&calling)));
        Some(CallWatch { observer, calling, from: Instant::now(), is_over: false })
    }

    pub(crate) fn over(watch: Option<Self>, result: &Result<Value, ServiceError>) {
        let Some(mut watch) = watch else { return };
        watch.is_over = true;
        let (outcome, spent) = match result {
            Ok(data) if *data.get("result").get("is_error") == Value::Bool(true) => {
                (Outcome::Complained, Spent::of(data.get("usage")))
            }
            Ok(data) => (Outcome::Answered, Spent::of(data.get("usage"))),
            Err(error) => (failed(error), Spent::of(error.details.get("usage"))),
        };
        let output = result.as_ref().ok().filter(|_| watch.observer.wants_content());
        let output = output.map(|data| said(data.get("result").get("content"), data));
        watch.tell(outcome, spent, output);
    }

    fn tell(&self, outcome: Outcome, spent: Spent, output: Option<String>) {
        let calling = Arc::clone(&self.calling);
        let took = self.from.elapsed();
        self.observer.observe(Observation::Called(Called { calling, took, outcome, spent, output }));
    }
}

impl Drop for CallWatch {
    fn drop(&mut self) {
        if !self.is_over {
            self.tell(Outcome::Stopped, Spent::default(), None);
        }
    }
}

impl Inner {
    /// Reports the failure of a call that never began, or that another host began.
    pub(crate) fn tell_failed(&self, effect: &OpenEffect, error: &ServiceError) {
        if self.observer.is_some() {
            let instance = self.slot(effect.instance).map(|slot| Arc::clone(&slot.id)).unwrap_or_default();
            self.tell([not_called(effect, instance, error)]);
        }
    }
}

/// Returns the observation of a call that never began, or that another host began.
pub fn not_called(effect: &OpenEffect, instance: Arc<str>, error: &ServiceError) -> Observation {
    let opened = u64::try_from(effect.opened_ms).unwrap_or(0);
    let opened = SystemTime::UNIX_EPOCH + Duration::from_millis(opened);
    let started = if error.category == Category::Interrupted { opened } else { SystemTime::now() };
    Observation::Called(Called {
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

fn failed(error: &ServiceError) -> Outcome {
    let code = error_word(&error.details).unwrap_or_else(|| error.category.as_str().into());
    Outcome::Failed { code, message: error.message.clone() }
}

/// Returns the properties of a call that its effect holds.
fn bare(effect: &OpenEffect, instance: Arc<str>, started: SystemTime) -> Calling {
    Calling {
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
