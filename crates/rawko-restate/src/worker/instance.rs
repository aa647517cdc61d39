//! The virtual object of an instance. A handler reads the state, lets the planner handle one input within one journaled
//! run, and applies the outcome. Read-only handlers are shared and never wait.

use std::future::Future;
use std::sync::{Arc, mpsc};

use rawko_core::{Event, Value};
use rawko_host::{HostEvent, PersonAnswer};
use rawko_instance::{EffectPlace, Input, StoredMessage, is_work, undelivered};
use rawko_store::{AuditLine, OpenEffect, Record};
use restate_sdk::prelude::*;

use super::apply_outcome::send;
use super::commit_plan::is_taken;
use super::family::{release, reserve};
use super::outcome::{CommitResult, HandlerOutcome, ResultAsk, TimerAsk};
use super::state::WorkerState;
use super::take::InstanceInput;
use crate::layout::family::ReserveAsk;
use crate::layout::{
    AnswerAsk, BlobText, BlobsAsk, CancelAsk, DeliverAsk, ForkAsk, ItemAsk, LiveState, MigrateAsk, PersonAsk,
    PostedEvent, RecordsAsk, RestateRefusal, RestateReply, StartAsk, from_hex, handler, key,
};

/// Size after which a response with blobs or records ends.
const BLOB_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Maximum number of records in a response.
const RECORDS_MAX: u64 = 500;

pub(super) struct InstanceObject {
    pub(super) state: Arc<WorkerState>,
}

#[restate_sdk::object(
    name = "RawkoInstance",
    client_visibility = "pub(super)",
    lazy_state,
    journal_retention = "0s",
    inactivity_timeout = "10s",
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
        let ask = ask.into_inner();
        let plan = |allowance| {
            let (state, id, ask) = (Arc::clone(&self.state), ctx.key().to_owned(), ask.clone());
            async move { state.start(&id, ask, allowance).await }
        };
        self.decide(&ctx, "start", (ctx.key(), 0), plan).await
    }

    /// Begins an instance that continues from a step of another one.
    #[handler]
    async fn fork(&self, ctx: ObjectContext<'_>, ask: Json<ForkAsk>) -> HandlerResult<Json<RestateReply>> {
        if live(&ctx).await?.is_some() {
            return Ok(Json(Err(RestateRefusal::Exists(ctx.key().to_owned()))));
        }
        let ask = ask.into_inner();
        let plan = |allowance| {
            let (state, id, ask) = (Arc::clone(&self.state), ctx.key().to_owned(), ask.clone());
            async move { state.fork(&id, ask, allowance).await }
        };
        self.decide(&ctx, "fork", (ctx.key(), 0), plan).await
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
        let (root, ask) = (live.row.new.root().to_owned(), ask.into_inner());
        let plan = |allowance| {
            let (state, live, ask) = (Arc::clone(&self.state), live.clone(), ask.clone());
            async move { state.migrate(live, ask, allowance).await }
        };
        self.decide(&ctx, "migrate", (&root, 0), plan).await
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
        let PostedEvent { event, child, spent, from, to_itself, key, chain, slots } = post.into_inner();
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
        let is_touched = to_itself;
        let happening = InstanceInput { delivered, is_touched, slots, ..InstanceInput::new(live, input) };
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
            let (id, slots) = (Arc::clone(&first.live.row.new.id), first.slots());
            let failure = PostedEvent::of(is_taken(ctx.key(), parent.invocation));
            let post = PostedEvent { child: Some(id), slots, ..failure };
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

    /// Returns records; only the first ones if they are large.
    #[handler]
    async fn records(
        &self,
        ctx: SharedObjectContext<'_>,
        ask: Json<RecordsAsk>,
    ) -> HandlerResult<Json<Vec<Record>>> {
        let RecordsAsk { after, through } = ask.into_inner();
        let through = through.min(after.saturating_add(RECORDS_MAX));
        let keys: Vec<String> = (after + 1..=through).map(key::record).collect();
        let asked: Vec<_> = keys.iter().map(|key| ctx.get::<Json<Record>>(key)).collect();
        let (mut found, mut bytes) = (Vec::with_capacity(asked.len()), 0);
        for record in asked {
            let Some(record) = record.await?.map(Json::into_inner) else { break };
            bytes += record.event.len() + record.delta.len() + record.effects.len();
            found.push(record);
            if bytes > BLOB_BYTES_MAX {
                break;
            }
        }
        Ok(Json(found))
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
        let (root, slots) = (happening.live.row.new.root().to_owned(), happening.slots);
        let plan = |allowance| {
            let (state, happening) = (Arc::clone(&self.state), happening.clone());
            async move { state.take(InstanceInput { allowance, ..happening }).await }
        };
        self.decide(ctx, "take", (&root, slots), plan).await
    }

    /// Plans in journaled runs, and then applies the outcome. A second plan is needed only if the family has fewer slots
    /// than instances would begin.
    async fn decide<P, F>(
        &self,
        ctx: &ObjectContext<'_>,
        name: &'static str,
        (root, mut slots): (&str, u64),
        plan: P,
    ) -> HandlerResult<Json<RestateReply>>
    where
        P: Fn(Option<u64>) -> F,
        F: Future<Output = HandlerResult<HandlerOutcome>> + Send + 'static,
    {
        let (mut outcome, mut seen) = planned(ctx, name, plan(None)).await?;
        let (newcomers, most) = outcome.newcomers();
        if newcomers > slots {
            let wanted = newcomers - slots;
            let granted = reserve(ctx, root, ReserveAsk { wanted, most }).await?;
            slots += granted;
            if granted < wanted {
                (outcome, seen) = planned(ctx, name, plan(Some(slots))).await?;
            }
        }
        let spare = slots.saturating_sub(outcome.newcomers().0);
        self.state.tell(seen);
        if let Some(written) = outcome.written {
            self.state.write(ctx, *written).await?;
        }
        release(ctx, root, spare);
        Ok(Json(outcome.reply))
    }
}

/// Runs a plan and returns its outcome, with the observations if it was computed here and now.
async fn planned(
    ctx: &ObjectContext<'_>,
    name: &'static str,
    plan: impl Future<Output = HandlerResult<HandlerOutcome>> + Send + 'static,
) -> HandlerResult<(HandlerOutcome, Vec<HostEvent>)> {
    let (tell, told) = mpsc::channel();
    let run = ctx.run(move || async move {
        let mut outcome = plan.await?;
        // Kept out of the journal, which holds the work to do, not the observations.
        let _ = tell.send(std::mem::take(&mut outcome.seen));
        Ok(Json(outcome))
    });
    let outcome = run.name(name).await?.into_inner();
    Ok((outcome, told.try_iter().flatten().collect()))
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
