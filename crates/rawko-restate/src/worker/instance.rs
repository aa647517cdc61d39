//! The virtual object of an instance. A handler reads the state, lets the planner handle one input within one journaled
//! run, and applies the outcome. Read-only handlers are shared and never wait.

use std::future::Future;
use std::sync::{Arc, mpsc};

use rawko_core::{Event, Value};
use rawko_host::PersonAnswer;
use rawko_instance::{EffectPlace, Input, StoredMessage, is_work, undelivered};
use rawko_store::{AuditLine, OpenEffect};
use restate_sdk::prelude::*;

use super::apply_outcome::send;
use super::commit_plan::is_taken;
use super::outcome::{CommitResult, HandlerOutcome, ResultAsk, TimerAsk};
use super::state::WorkerState;
use super::take::InstanceInput;
use crate::layout::{
    AnswerAsk, BlobText, BlobsAsk, CancelAsk, DeliverAsk, ForkAsk, ItemAsk, LiveState, MigrateAsk, PersonAsk,
    PostedEvent, RestateRefusal, RestateReply, StartAsk, from_hex, handler, key,
};

/// Size after which a response with blobs ends.
const BLOB_BYTES_MAX: usize = 4 * 1024 * 1024;

pub(super) struct InstanceObject {
    pub(super) state: Arc<WorkerState>,
}

#[restate_sdk::object(
    name = "RawkoInstance",
    client_visibility = "pub(super)",
    lazy_state,
    journal_retention = "0s",
    idempotency_retention = "10m",
    invocation_retry_policy(initial_interval = "50ms", factor = 2.0, max_interval = "2s")
)]
impl InstanceObject {
    /// Begins an instance of a stored chart.
    #[handler]
    async fn start(&self, ctx: ObjectContext<'_>, ask: Json<StartAsk>) -> HandlerResult<Json<RestateReply>> {
        if live(&ctx).await?.is_some() {
            return Ok(Json(Err(RestateRefusal::Exists(ctx.key().to_owned()))));
        }
        let (state, id, ask) = (Arc::clone(&self.state), ctx.key().to_owned(), ask.into_inner());
        self.decide(&ctx, "start", async move { state.start(&id, ask).await }).await
    }

    /// Begins an instance that continues from a step of another one.
    #[handler]
    async fn fork(&self, ctx: ObjectContext<'_>, ask: Json<ForkAsk>) -> HandlerResult<Json<RestateReply>> {
        if live(&ctx).await?.is_some() {
            return Ok(Json(Err(RestateRefusal::Exists(ctx.key().to_owned()))));
        }
        let (state, id, ask) = (Arc::clone(&self.state), ctx.key().to_owned(), ask.into_inner());
        self.decide(&ctx, "fork", async move { state.fork(&id, ask).await }).await
    }

    /// Delivers an event from outside.
    #[handler]
    async fn deliver(
        &self,
        ctx: ObjectContext<'_>,
        ask: Json<DeliverAsk>,
    ) -> HandlerResult<Json<RestateReply>> {
        let DeliverAsk { event, key } = ask.into_inner();
        self.asked(&ctx, Input::Event { event, key }).await
    }

    /// Cancels the instance.
    #[handler]
    async fn cancel(
        &self,
        ctx: ObjectContext<'_>,
        ask: Json<CancelAsk>,
    ) -> HandlerResult<Json<RestateReply>> {
        let CancelAsk { reason } = ask.into_inner();
        self.asked(&ctx, Input::Cancel { reason }).await
    }

    /// Retries a failed invocation.
    #[handler]
    async fn retry(&self, ctx: ObjectContext<'_>) -> HandlerResult<Json<RestateReply>> {
        self.asked(&ctx, Input::Retry).await
    }

    /// Retries one failed item of an `each`.
    #[handler]
    async fn retry_item(
        &self,
        ctx: ObjectContext<'_>,
        ask: Json<ItemAsk>,
    ) -> HandlerResult<Json<RestateReply>> {
        self.asked(&ctx, Input::RetryItem { item: ask.into_inner().item }).await
    }

    /// Pauses the instance and its descendants.
    #[handler]
    async fn pause(&self, ctx: ObjectContext<'_>, ask: Json<PersonAsk>) -> HandlerResult<Json<RestateReply>> {
        self.asked(&ctx, Input::Pause { by: ask.into_inner().by }).await
    }

    /// Resumes the instance and its descendants.
    #[handler]
    async fn resume(
        &self,
        ctx: ObjectContext<'_>,
        ask: Json<PersonAsk>,
    ) -> HandlerResult<Json<RestateReply>> {
        self.asked(&ctx, Input::Resume { by: ask.into_inner().by }).await
    }

    /// Continues the instance on another chart.
    #[handler]
    async fn migrate(
        &self,
        ctx: ObjectContext<'_>,
        ask: Json<MigrateAsk>,
    ) -> HandlerResult<Json<RestateReply>> {
        let Some(live) = live(&ctx).await? else {
            return Ok(Json(Err(RestateRefusal::NoInstance(ctx.key().to_owned()))));
        };
        let (state, ask) = (Arc::clone(&self.state), ask.into_inner());
        self.decide(&ctx, "migrate", async move { state.migrate(live, ask).await }).await
    }

    /// Answers a pending request.
    #[handler]
    async fn answer(
        &self,
        ctx: ObjectContext<'_>,
        ask: Json<AnswerAsk>,
    ) -> HandlerResult<Json<RestateReply>> {
        let AnswerAsk { invoke, approved, by, claimed, asked_ms, comment, data } = ask.into_inner();
        let answer = PersonAnswer { approved, by, claimed, asked_ms, comment, data };
        self.asked(&ctx, Input::Answer { invoke, answer, key: None }).await
    }

    /// Delivers an event from another instance, or from itself.
    #[handler(ingress_private)]
    async fn letter(&self, ctx: ObjectContext<'_>, post: Json<PostedEvent>) -> HandlerResult<()> {
        let PostedEvent { event, child, spent, from, to_itself, key, chain } = post.into_inner();
        let Some(mut live) = live(&ctx).await? else {
            if let (Some(from), Event::Named(event)) = (from, event) {
                send(&ctx, &from, handler::LETTER, PostedEvent::of(undelivered(&event.name, ctx.key())));
            }
            return Ok(());
        };
        if to_itself {
            live.row.to_itself = live.row.to_itself.saturating_sub(1);
        }
        let input = Input::Message { seq: 0, message: StoredMessage { event, key, child, spent, chain } };
        let delivered = delivered(&ctx, &input).await?;
        let happening = InstanceInput { delivered, is_touched: to_itself, ..InstanceInput::new(live, input) };
        self.happen(&ctx, happening).await.map(drop)
    }

    /// Begins the instance with its first step, which the parent's handler took.
    #[handler(ingress_private)]
    async fn begin(&self, ctx: ObjectContext<'_>, first: Json<CommitResult>) -> HandlerResult<()> {
        let first = first.into_inner();
        if live(&ctx).await?.is_none() {
            return self.state.write(&ctx, first).await;
        }
        if let Some(parent) = &first.live.row.new.parent {
            let id = Arc::clone(&first.live.row.new.id);
            let post =
                PostedEvent { child: Some(id), ..PostedEvent::of(is_taken(ctx.key(), parent.invocation)) };
            send(&ctx, &parent.id, handler::LETTER, post);
        }
        Ok(())
    }

    /// Delivers the result of an effect.
    #[handler(ingress_private)]
    async fn result(&self, ctx: ObjectContext<'_>, ask: Json<ResultAsk>) -> HandlerResult<()> {
        let ResultAsk { place, result, audit } = ask.into_inner();
        let Some(live) = live(&ctx).await? else { return Ok(()) };
        let input = Input::Result { effect: place, result };
        self.happen(&ctx, InstanceInput { audit, ..InstanceInput::new(live, input) }).await.map(drop)
    }

    /// Expires a pending request to a person.
    #[handler(ingress_private)]
    async fn expire(&self, ctx: ObjectContext<'_>, place: Json<EffectPlace>) -> HandlerResult<()> {
        let EffectPlace { step, index } = place.into_inner();
        let Some(live) = live(&ctx).await? else { return Ok(()) };
        if !live.open.iter().any(|effect| (effect.step, effect.index) == (step, index)) {
            return Ok(());
        }
        self.happen(&ctx, InstanceInput::new(live, Input::Time)).await.map(drop)
    }

    /// Handles a due timer, unless another one was set meanwhile.
    #[handler(ingress_private)]
    async fn timer(&self, ctx: ObjectContext<'_>, ask: Json<TimerAsk>) -> HandlerResult<()> {
        let due_ms = ask.into_inner().due_ms;
        let Some(mut live) = live(&ctx).await?.filter(|live| live.armed_ms == Some(due_ms)) else {
            return Ok(());
        };
        live.armed_ms = None;
        let happening = InstanceInput::new(live, Input::Time);
        self.happen(&ctx, InstanceInput { not_before_ms: due_ms, is_touched: true, ..happening })
            .await
            .map(drop)
    }

    /// Stops the instance because the parent left the invoking state.
    #[handler(ingress_private)]
    async fn stop(&self, ctx: ObjectContext<'_>) -> HandlerResult<()> {
        // The instance never began: its chart was not found.
        let Some(live) = live(&ctx).await? else { return Ok(()) };
        let reason = Value::str("the parent left the state");
        self.happen(&ctx, InstanceInput::new(live, Input::Cancel { reason })).await.map(drop)
    }

    /// Stores audit lines of a running call.
    #[handler]
    async fn note(&self, ctx: ObjectContext<'_>, lines: Json<Vec<AuditLine>>) -> HandlerResult<()> {
        let Some(mut live) = live(&ctx).await? else { return Ok(()) };
        let audit = lines.into_inner();
        live.row.audit += audit.len() as u64;
        self.state.write(&ctx, CommitResult { audit, ..CommitResult::empty(live) }).await
    }

    /// Returns the current state.
    #[handler]
    async fn look(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<Option<LiveState>>> {
        Ok(Json(ctx.get::<Json<LiveState>>(key::LIVE).await?.map(Json::into_inner)))
    }

    /// Returns those of the named blobs that exist; only some of them if they are large.
    #[handler]
    async fn blobs(
        &self,
        ctx: SharedObjectContext<'_>,
        ask: Json<BlobsAsk>,
    ) -> HandlerResult<Json<Vec<BlobText>>> {
        let (mut found, mut bytes) = (Vec::new(), 0);
        for name in ask.into_inner().names {
            let Some(hash) = from_hex(&name) else { continue };
            let Some(body) = ctx.get::<Json<String>>(&key::blob(&hash)).await? else { continue };
            let body = body.into_inner();
            bytes += body.len();
            found.push(BlobText { name, body });
            // The client requests the rest again.
            if bytes > BLOB_BYTES_MAX {
                break;
            }
        }
        Ok(Json(found))
    }

    /// Returns true while an effect is still awaited.
    #[handler]
    async fn open(
        &self,
        ctx: SharedObjectContext<'_>,
        place: Json<EffectPlace>,
    ) -> HandlerResult<Json<bool>> {
        let EffectPlace { step, index } = place.into_inner();
        let live = ctx.get::<Json<LiveState>>(key::LIVE).await?.map(Json::into_inner);
        let open = live.map(|live| live.open).unwrap_or_default();
        // A pause stops the call.
        let is_awaited = |it: &OpenEffect| is_work(it.kind) && !it.parked;
        let waits = open.iter().any(|it| (it.step, it.index) == (step, index) && is_awaited(it));
        Ok(Json(waits))
    }
}

impl InstanceObject {
    /// Handles an input whose sender waits for the reply.
    async fn asked(&self, ctx: &ObjectContext<'_>, input: Input) -> HandlerResult<Json<RestateReply>> {
        let Some(live) = live(ctx).await? else {
            return Ok(Json(Err(RestateRefusal::NoInstance(ctx.key().to_owned()))));
        };
        let delivered = delivered(ctx, &input).await?;
        let happening = InstanceInput { delivered, is_asked: true, ..InstanceInput::new(live, input) };
        self.happen(ctx, happening).await
    }

    async fn happen(
        &self,
        ctx: &ObjectContext<'_>,
        happening: InstanceInput,
    ) -> HandlerResult<Json<RestateReply>> {
        let state = Arc::clone(&self.state);
        self.decide(ctx, "take", async move { state.take(happening).await }).await
    }

    /// Plans in one journaled run, and then applies its outcome.
    async fn decide(
        &self,
        ctx: &ObjectContext<'_>,
        name: &'static str,
        deciding: impl Future<Output = HandlerResult<HandlerOutcome>> + Send + 'static,
    ) -> HandlerResult<Json<RestateReply>> {
        let (tell, told) = mpsc::channel();
        let run = ctx.run(move || async move {
            let mut outcome = deciding.await?;
            // Kept out of the journal, which holds the work to do, not the observations.
            let _ = tell.send(std::mem::take(&mut outcome.seen));
            Ok(Json(outcome))
        });
        let outcome = run.name(name).await?.into_inner();
        self.state.tell(told.try_iter().flatten());
        if let Some(written) = outcome.written {
            self.state.write(ctx, *written).await?;
        }
        Ok(Json(outcome.reply))
    }
}

/// Returns the step that handled an input, if it is a duplicate.
async fn delivered(ctx: &ObjectContext<'_>, input: &Input) -> HandlerResult<Option<u64>> {
    match input.delivery_key() {
        Some(key) => Ok(ctx.get::<Json<u64>>(&key::delivery(&key)).await?.map(Json::into_inner)),
        None => Ok(None),
    }
}

async fn live(ctx: &ObjectContext<'_>) -> HandlerResult<Option<LiveState>> {
    Ok(ctx.get::<Json<LiveState>>(key::LIVE).await?.map(Json::into_inner))
}
