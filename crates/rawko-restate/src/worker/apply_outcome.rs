//! Applies an outcome: first the state, then the sends. Nothing here decides anything, so repeating it after a crash
//! has the same effect.

use std::time::Duration;

use rawko_store::StoreError;
use restate_sdk::context::RequestTarget;
use restate_sdk::prelude::*;

use super::family::release;
use super::outcome::{CommitResult, ResultAsk, Todo};
use super::state::WorkerState;
use crate::layout::index::IndexedStep;
use crate::layout::{CHART, INSTANCE, SnapshotMark, StoredRow, WORK, from_hex, handler, key};

/// Time to wait for the index for the sake of order; it is added later in any case.
const AWAITED: Duration = Duration::from_secs(1);
/// Time to wait for the index before the step is repeated.
const BUSY: Duration = Duration::from_secs(2);

type SnapshotMarks = Json<Vec<SnapshotMark>>;

impl WorkerState {
    pub(super) async fn write(&self, ctx: &ObjectContext<'_>, written: CommitResult) -> HandlerResult<()> {
        let CommitResult { live, records, snapshot, blobs, deliveries, audit, charts, .. } = written;
        let (children, todo, timer) = (written.children, written.todo, written.timer);
        let known = live.row.records - records.len() as u64;
        for chart in charts {
            let target = RequestTarget::object(CHART, chart.hash.as_str(), handler::PUT);
            // Awaited: the chart must exist before an instance looks it up.
            ctx.request::<_, ()>(target, Json(chart.text)).call().await?;
            from_hex(&chart.hash).into_iter().for_each(|hash| self.charts.note_kept(hash));
        }
        for blob in blobs {
            if let Some(name) = from_hex(&blob.name) {
                ctx.set(&key::blob(&name), Json(blob.body));
            }
        }
        for record in records {
            ctx.set(&key::record(record.seq), Json(record));
        }
        if let Some(snapshot) = snapshot {
            let mut marks =
                ctx.get::<SnapshotMarks>(key::SNAPSHOTS).await?.map(Json::into_inner).unwrap_or_default();
            marks.push(SnapshotMark { step: snapshot.step, record: live.row.records });
            ctx.set(&key::snapshot(snapshot.step), Json(snapshot));
            ctx.set(key::SNAPSHOTS, Json(marks));
        }
        for delivery in deliveries {
            ctx.set(&key::delivery(&delivery.key), Json(delivery.step));
        }
        let first_line = live.row.audit + 1 - audit.len() as u64;
        for (line, number) in audit.into_iter().zip(first_line..) {
            ctx.set(&key::audit(number), Json(line));
        }
        let (own, row) = (live.row.new.id.clone(), live.row.clone());
        ctx.set(key::LIVE, Json(live));
        // Last, so that a reader of the row finds everything that it counts.
        ctx.set(key::ROW, Json(row.clone()));
        if written.is_indexed {
            if written.is_awaited {
                // The writes above are sent only when the server is asked for something: readers of the index look for them.
                drop(ctx.get::<Json<StoredRow>>(key::ROW).await?);
            }
            self.list(IndexedStep { row, known }, written.is_awaited).await?;
        }
        for child in children {
            let id = child.live.row.new.id.to_string();
            send(ctx, &id, handler::BEGIN, child);
        }
        todo.into_iter().for_each(|todo| perform(ctx, &own, todo));
        if let Some(timer) = timer {
            let target = RequestTarget::object(INSTANCE, &*own, handler::TIMER);
            let delay = Duration::from_millis(timer.delay_ms);
            drop(ctx.request::<_, ()>(target, Json(timer)).send_after(delay));
        }
        Ok(())
    }

    /// Adds a step to the index. Most steps do not wait for it: the queue sends many at once. Before sends to other instances,
    /// it is waited for, so that what they lead to comes later in the index, too. It is not journaled: if this worker dies
    /// before the handler ends, the one that repeats it adds the step, and if it dies after that, others find it (`indexer`).
    async fn list(&self, step: IndexedStep, is_awaited: bool) -> HandlerResult<()> {
        let queued = self.queue.push(step);
        if is_awaited && self.queue.is_added(queued, AWAITED).await || self.queue.may_leave(queued) {
            return Ok(());
        }
        if self.queue.is_added(queued, BUSY).await {
            return Ok(());
        }
        // Tried again, soon; meanwhile it holds no slot of the server that the index may need.
        Err(StoreError::Io("the index of instances does not answer".to_owned()).into())
    }
}

fn perform(ctx: &ObjectContext<'_>, own: &str, todo: Todo) {
    match todo {
        Todo::Run(ask) => {
            let target = RequestTarget::service(WORK, handler::RUN);
            drop(ctx.request::<_, ()>(target, Json(ask)).send());
        }
        Todo::Fail(ask) => send::<ResultAsk>(ctx, own, handler::RESULT, ask),
        Todo::Post { to, post } => send(ctx, &to, handler::LETTER, post),
        Todo::StopChild { id } => send(ctx, &id, handler::STOP, ()),
        Todo::Expire { place, delay_ms } => {
            let target = RequestTarget::object(INSTANCE, own, handler::EXPIRE);
            drop(ctx.request::<_, ()>(target, Json(place)).send_after(Duration::from_millis(delay_ms)));
        }
        Todo::Release { root, count } => release(ctx, &root, count),
    }
}

/// Sends a durable one-way message to an instance.
pub(super) fn send<T: serde::Serialize + 'static>(
    ctx: &ObjectContext<'_>,
    to: &str,
    handler: &str,
    payload: T,
) {
    drop(ctx.request::<_, ()>(RequestTarget::object(INSTANCE, to, handler), Json(payload)).send());
}
