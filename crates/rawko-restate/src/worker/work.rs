//! The service that runs effects. A marker is journaled before a call is made. A marker of another worker's start means
//! that the call may have happened; a marker of this start whose call is recorded as lost means that it did, and that
//! its result was dropped.

use std::sync::Arc;
use std::time::Duration;

use rawko_core::{ServiceClass, ServiceName, Value};
use rawko_host::{
    CallProgress, Category, ContentReader, ContentSource, HostError, ReadingBlob, RuntimeGate, ServiceError,
    not_called,
};
use rawko_instance::{EffectPlace, EffectResult, ServiceRequest};
use rawko_store::{AuditLine, OpenEffect};
use restate_sdk::context::RequestTarget;
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};

use super::audit::Tower;
use super::calls::EndedResult;
use super::outcome::{ResultAsk, WorkAsk};
use super::state::{WorkerState, passing};
use crate::client::HandlerTarget;
use crate::layout::{INSTANCE, handler};

/// Polling interval of a running call for whether it is still awaited.
const LOOK: Duration = Duration::from_millis(800);
/// Maximum size of a result; Restate rejects messages of 32 MiB.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

pub(super) struct WorkService {
    pub(super) state: Arc<WorkerState>,
}

/// The journaled result of running an effect.
#[derive(Debug, Serialize, Deserialize)]
struct EffectRun {
    ended: EndedResult,
    audit: Vec<AuditLine>,
}

// A model or a program may take hours: Restate must not consider it dead and start it again.
#[restate_sdk::service(
    name = "RawkoWork",
    client_visibility = "pub(super)",
    ingress_private,
    journal_retention = "0s",
    inactivity_timeout = "7 days",
    abort_timeout = "7 days",
    invocation_retry_policy(initial_interval = "50ms", factor = 2.0, max_interval = "2s")
)]
impl WorkService {
    /// Runs one effect and delivers its result to the instance.
    #[handler]
    async fn run(&self, ctx: Context<'_>, ask: Json<WorkAsk>) -> HandlerResult<()> {
        let ask = ask.into_inner();
        let place = EffectPlace { step: ask.effect.step, index: ask.effect.index };
        let instance = Arc::clone(&ask.instance);
        let boot = self.state.boot.clone();
        let marker = ctx.run(move || async move { Ok(boot) }).name("begun").await?;
        let (state, invocation) = (Arc::clone(&self.state), ctx.invocation_id().to_owned());
        let run = ctx.run(move || async move { state.work(ask, &marker, &invocation).await.map(Json) });
        let EffectRun { ended, audit } = run.name("call").await?.into_inner();
        self.state.calls.forget(ctx.invocation_id());
        if let Some(result) = ended {
            let target = RequestTarget::object(INSTANCE, &*instance, handler::RESULT);
            drop(ctx.request::<_, ()>(target, Json(ResultAsk { place, result, audit })).send());
        }
        Ok(())
    }
}

impl WorkerState {
    async fn work(self: Arc<Self>, ask: WorkAsk, marker: &str, invocation: &str) -> HandlerResult<EffectRun> {
        if let Some(call) = self.calls.find(invocation) {
            return Ok(EffectRun { ended: call.ended().await?, audit: Vec::new() });
        }
        let request = match self.request(&ask).await {
            Err(error) if error.is_transient() => return Err(error.into()),
            Err(error) => {
                let error = ServiceError::new(Category::Host, error.to_string());
                return Ok(self.failed(&ask, error, Vec::new()));
            }
            Ok(request) => request,
        };
        let is_first = marker == self.boot && !self.calls.is_lost(invocation);
        if !is_first {
            if let Err((error, audit)) = self.may_repeat(&ask, &request) {
                return Ok(self.failed(&ask, error, audit));
            }
            self.note_repeated(&ask, invocation).await?;
        }
        let call = self.calls.begin(invocation, Arc::clone(&self).run(ask, request));
        let mut ended = call.ended().await?;
        if let (false, Some(result)) = (is_first, &mut ended) {
            // The call may have happened before: a failure now does not prove that it did not.
            result.note.outcome_open = true;
        }
        Ok(EffectRun { ended, audit: Vec::new() })
    }

    /// Returns the failure of a call that is not made.
    fn failed(&self, ask: &WorkAsk, error: ServiceError, audit: Vec<AuditLine>) -> EffectRun {
        self.tell([not_called(&ask.effect, Arc::clone(&ask.instance), &error)]);
        EffectRun { ended: Some(EffectResult::of(&ask.effect, Err(error))), audit }
    }

    /// Returns the unpacked request.
    async fn request(&self, ask: &WorkAsk) -> Result<ServiceRequest, HostError> {
        let (text, _) = self.blobs.unpack(&ask.instance, &ask.effect.body).await?;
        serde_json::from_str(&text).map_err(|_| HostError::Internal(ask.instance.to_string()))
    }

    /// Fails unless a call that may have happened is safe to repeat, and still allowed.
    fn may_repeat(
        &self,
        ask: &WorkAsk,
        request: &ServiceRequest,
    ) -> Result<(), (ServiceError, Vec<AuditLine>)> {
        let name = &ask.effect.name;
        if !self.project.may_repeat(&ask.effect, request) {
            let message = format!("the host stopped while `{name}` ran; its outcome is unknown");
            let error = ServiceError::new(Category::Interrupted, message);
            return Err((error, vec![self.restarted(ask, "interrupted")]));
        }
        match self.project.gate.by_settings(name, ask.agent.as_deref()) {
            Ok(_) => Ok(()),
            Err(rule) => {
                Err((ServiceError::new(Category::Refused, rule), vec![self.restarted(ask, "repeated")]))
            }
        }
    }

    /// Recorded before the call, since the worker may be gone afterwards. Once for each start of a worker that repeats
    /// it.
    async fn note_repeated(&self, ask: &WorkAsk, invocation: &str) -> Result<(), HostError> {
        let target = HandlerTarget::object(INSTANCE, &ask.instance, handler::NOTE);
        let key = format!("repeated-{invocation}-{}", self.boot);
        let lines = vec![self.restarted(ask, "repeated")];
        self.ingress.call_as::<_, ()>(&target, &lines, Some(&key)).await.map_err(passing)
    }

    fn restarted(&self, ask: &WorkAsk, decision: &str) -> AuditLine {
        AuditLine {
            at_ms: self.now_ms(),
            instance: Arc::clone(&ask.instance),
            effect: Arc::clone(&ask.effect.idempotency),
            service: Arc::clone(&ask.effect.name),
            decision: decision.into(),
            reason: "the host stopped while it ran".into(),
            provenance: String::new(),
        }
    }

    /// Runs until the service returns, or the effect is no longer awaited.
    async fn run(self: Arc<Self>, ask: WorkAsk, request: ServiceRequest) -> EndedResult {
        let WorkAsk { instance, effect, .. } = ask;
        let invoke = match &request {
            ServiceRequest::Invoke(invoke) => Some(Arc::clone(&invoke.id)),
            ServiceRequest::Call { .. } | ServiceRequest::Send(_) => None,
        };
        let tower = Box::new(Tower { state: Arc::clone(&self), instance: Arc::clone(&instance) });
        let runtime_gate =
            RuntimeGate::new(tower, &instance, ServiceName::member_of(&effect.name, ServiceClass::Agent));
        let contents = InstanceBlobs { state: Arc::clone(&self), instance: Arc::clone(&instance) };
        let handles = (runtime_gate, ContentReader::new(Arc::new(contents)));
        let running = match self.project.prepare(&effect, &instance, request, &self.watchers, handles) {
            Ok(running) => running,
            Err(error) => {
                self.tell([not_called(&effect, instance, &error)]);
                return Some(EffectResult::of(&effect, Err(error)));
            }
        };
        let place = EffectPlace { step: effect.step, index: effect.index };
        let ended = tokio::select! {
            answer = running.answer_observed(&effect, self.observer.as_ref()) => match answer {
                Some(answer) => Some(EffectResult::of(&effect, answer.and_then(bounded))),
                // The process is ending: the next worker finds the marker.
                None => std::future::pending().await,
            },
            () = self.unwanted(&instance, place) => None,
        };
        if let Some(id) = invoke {
            self.tell_end(instance, id, &effect);
        }
        ended
    }

    /// Ends the live output of a call.
    fn tell_end(&self, instance: Arc<str>, id: Arc<str>, effect: &OpenEffect) {
        let data = Value::map([("type", Value::str("message_done"))]);
        let (name, step) = (Arc::clone(&effect.name), effect.step);
        // Sending fails only without receivers.
        let _ = self.watchers.send(CallProgress { instance, id, name, step, data });
    }

    /// Returns once the instance no longer awaits this effect.
    async fn unwanted(&self, instance: &str, place: EffectPlace) {
        let target = HandlerTarget::object(INSTANCE, instance, handler::OPEN);
        loop {
            tokio::time::sleep(LOOK).await;
            // An unreachable server does not mean that the effect is unwanted.
            if let Ok(false) = self.ingress.look::<_, bool>(&target, &place).await {
                return;
            }
        }
    }
}

fn bounded(answer: Value) -> Result<Value, ServiceError> {
    let bytes = serde_json::to_string(&answer).map_or(0, |text| text.len());
    if bytes <= ANSWER_BYTES_MAX {
        return Ok(answer);
    }
    let most = ANSWER_BYTES_MAX / 1024 / 1024;
    let message = format!("the answer has {bytes} bytes; this host accepts at most {most} MiB");
    Err(ServiceError::new(Category::InvalidAnswer, message))
}

/// The blobs that one instance keeps.
struct InstanceBlobs {
    state: Arc<WorkerState>,
    instance: Arc<str>,
}

impl ContentSource for InstanceBlobs {
    fn blob(&self, name: [u8; 16]) -> ReadingBlob<'_> {
        Box::pin(async move {
            let found = self.state.blobs.find(&self.instance, name).await;
            Ok(found.map_err(|error| error.to_string())?.map(|body| body.to_vec()))
        })
    }
}
