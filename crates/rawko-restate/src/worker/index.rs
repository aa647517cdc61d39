//! The virtual object of a shard of the index. Its exclusive handlers only write; no call is made in them.

use std::collections::BTreeSet;
use std::time::Duration;

use restate_sdk::context::RequestTarget;
use restate_sdk::prelude::*;

use super::shard::{ShardChange, indexed, scanned};
use crate::layout::StoredRow;
use crate::layout::index::{
    FeedAsk, FeedEntry, FeedPart, IDS_PER_PAGE, INDEX, IndexBuild, IndexedStep, ListenAsk, NewestAsk,
    PLACES_PER_PAGE, PlacesAsk, RecordPlaces, SealAsk, ShardHead, ShardMark, ShardRow, WaitAsk,
    WaitingFollower, handler, key,
};

/// Entries and rows in one response.
const READ_MAX: u64 = 1_000;
/// Followers that a shard notifies; more must ask again.
const WAITING_MAX: usize = 256;

/// A call that waits returns after this time in any case: it belongs to one deployment of workers.
const WAIT_MAX: Duration = Duration::from_secs(20);

pub(super) struct IndexObject;

/// Reads all of these keys at a time, through any kind of context.
macro_rules! get_all {
    ($ctx:expr, $of:ty, $keys:expr) => {{
        let keys: Vec<String> = $keys.collect();
        let asked: Vec<_> = keys.iter().map(|key| $ctx.get::<Json<$of>>(key)).collect();
        let mut found: Vec<$of> = Vec::with_capacity(asked.len());
        for value in asked {
            found.extend(value.await?.map(Json::into_inner));
        }
        found
    }};
}

/// Returns entries, and the current rows of their instances.
macro_rules! feed_part {
    ($ctx:expr, $head:expr, $ask:expr) => {{
        let ask: FeedAsk = $ask;
        let last = $head.entries.min(ask.after.saturating_add(ask.limit.min(READ_MAX)));
        let numbers = ask.after.max($head.removed) + 1..=last;
        let entries = get_all!($ctx, FeedEntry, numbers.map(key::entry));
        let rows = get_all!($ctx, ShardRow, rows_of(&entries));
        let through = last.max(ask.after);
        let is_cut = entries.len() as u64 != through - ask.after;
        let rows = rows.into_iter().map(|of| of.row).collect();
        FeedPart { mark: ShardMark::from(&$head), entries, through, is_cut, rows }
    }};
}

#[restate_sdk::object(
    name = "RawkoIndex",
    client_visibility = "pub(super)",
    lazy_state,
    journal_retention = "0s",
    idempotency_retention = "1s",
    invocation_retry_policy(initial_interval = "50ms", factor = 2.0, max_interval = "2s")
)]
impl IndexObject {
    /// Adds a step of an instance.
    #[handler(ingress_private)]
    async fn append(&self, ctx: ObjectContext<'_>, step: Json<IndexedStep>) -> HandlerResult<()> {
        let step = step.into_inner();
        let row = key::row(&step.row.new.id);
        let (head, known) = (ctx.get::<Json<ShardHead>>(key::HEAD), ctx.get::<Json<ShardRow>>(&row));
        let (head, known) = (read(head.await?), known.await?.map(Json::into_inner));
        let Some(mut change) = indexed(shard(ctx.key()), head, known, step) else { return Ok(()) };
        wake(&ctx, &mut change.head);
        let head = write(&ctx, change).await?;
        ctx.set(key::HEAD, Json(head));
        Ok(())
    }

    /// Adds instances that existed before the index, and steps that older workers took since.
    #[handler]
    async fn build(&self, ctx: ObjectContext<'_>, part: Json<IndexBuild>) -> HandlerResult<()> {
        let IndexBuild { rows, is_last } = part.into_inner();
        let mut head = read(ctx.get::<Json<ShardHead>>(key::HEAD).await?);
        for row in rows {
            let known = ctx.get::<Json<ShardRow>>(&key::row(&row.new.id)).await?.map(Json::into_inner);
            if let Some(change) = scanned(shard(ctx.key()), head.clone(), known, row) {
                head = write(&ctx, change).await?;
            }
        }
        head.is_built |= is_last;
        wake(&ctx, &mut head);
        ctx.set(key::HEAD, Json(head));
        Ok(())
    }

    /// Keeps later entries behind a position, and returns new entries.
    #[handler]
    async fn seal(&self, ctx: ObjectContext<'_>, ask: Json<SealAsk>) -> HandlerResult<Json<FeedPart>> {
        let SealAsk { until, feed } = ask.into_inner();
        let mut head = read(ctx.get::<Json<ShardHead>>(key::HEAD).await?);
        if head.last < until {
            head.last = until;
            ctx.set(key::HEAD, Json(head.clone()));
        }
        Ok(Json(feed_part!(ctx, head, feed)))
    }

    /// Notifies a follower of the next entry.
    #[handler(ingress_private)]
    async fn listen(&self, ctx: ObjectContext<'_>, ask: Json<ListenAsk>) -> HandlerResult<()> {
        let ListenAsk { waiting, known } = ask.into_inner();
        let mut head = read(ctx.get::<Json<ShardHead>>(key::HEAD).await?);
        let mark = ShardMark::from(&head);
        if mark.entries > known {
            ctx.resolve_awakeable(&waiting.awakeable, Json(mark));
            return Ok(());
        }
        let is_full = head.waiting.len() >= WAITING_MAX;
        let oldest = usize::from(is_full);
        let mut left: Vec<WaitingFollower> = head.waiting.drain(..oldest).collect();
        left.extend(head.waiting.extract_if(.., |it| it.follower == waiting.follower));
        left.iter().for_each(|it| ctx.resolve_awakeable(&it.awakeable, Json(mark)));
        head.waiting.push(waiting);
        ctx.set(key::HEAD, Json(head));
        Ok(())
    }

    /// Returns the end of the shard once it has more entries than the known ones. Suspends soon: the worker holds nothing meanwhile.
    #[handler(inactivity_timeout = "2s")]
    async fn wait(&self, ctx: SharedObjectContext<'_>, ask: Json<WaitAsk>) -> HandlerResult<Json<ShardMark>> {
        let WaitAsk { follower, known } = ask.into_inner();
        let (awakeable, woken) = ctx.awakeable::<Json<ShardMark>>();
        let ask = ListenAsk { waiting: WaitingFollower { follower, awakeable }, known };
        let target = RequestTarget::object(INDEX, ctx.key(), handler::LISTEN);
        drop(ctx.request::<_, ()>(target, Json(ask)).send());
        let mark = restate_sdk::select! {
            mark = woken => mark?,
            waited = ctx.sleep(WAIT_MAX) => {
                waited?;
                Json(ShardMark { entries: known, ..ShardMark::default() })
            },
        };
        Ok(mark)
    }

    /// Returns the end of the shard.
    #[handler]
    async fn peek(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<ShardMark>> {
        Ok(Json(ShardMark::from(&read(ctx.get::<Json<ShardHead>>(key::HEAD).await?))))
    }

    /// Returns entries.
    #[handler]
    async fn read(&self, ctx: SharedObjectContext<'_>, ask: Json<FeedAsk>) -> HandlerResult<Json<FeedPart>> {
        let head = read(ctx.get::<Json<ShardHead>>(key::HEAD).await?);
        Ok(Json(feed_part!(ctx, head, ask.into_inner())))
    }

    /// Returns the number of entries up to a position.
    #[handler]
    async fn find(&self, ctx: SharedObjectContext<'_>, at: Json<u64>) -> HandlerResult<Json<Option<u64>>> {
        let at = at.into_inner();
        let head = read(ctx.get::<Json<ShardHead>>(key::HEAD).await?);
        if at < head.old_until {
            return Ok(Json(None));
        }
        // `low` entries are up to the position; those after the first `high` are not.
        let (mut low, mut high) = (head.removed, head.entries);
        while low < high {
            let middle = low.midpoint(high) + 1;
            let entry = ctx.get::<Json<FeedEntry>>(&key::entry(middle)).await?.map(Json::into_inner);
            match entry {
                Some(entry) if entry.at > at => high = middle - 1,
                // Removed meanwhile.
                Some(_) | None => low = middle,
            }
        }
        // The removed entries may be later than the position, too.
        let is_known = low > head.removed || head.removed == 0;
        Ok(Json(is_known.then_some(low)))
    }

    /// Returns the positions of an instance's records.
    #[handler]
    async fn places(
        &self,
        ctx: SharedObjectContext<'_>,
        ask: Json<PlacesAsk>,
    ) -> HandlerResult<Json<Option<RecordPlaces>>> {
        let PlacesAsk { id, after } = ask.into_inner();
        let Some(of) = ctx.get::<Json<ShardRow>>(&key::row(&id)).await?.map(Json::into_inner) else {
            return Ok(Json(None));
        };
        let per_page = PLACES_PER_PAGE as u64;
        let page = (after.saturating_sub(of.before) / per_page).min(of.pages);
        let pages = get_all!(ctx, Vec<u64>, (page..of.pages).map(|page| key::places(&id, page)));
        let places = pages.into_iter().flatten().chain(of.places).collect();
        let after = of.before + page * per_page;
        Ok(Json(Some(RecordPlaces { before: of.before, step: of.row.step, after, places })))
    }

    /// Returns the newest rows.
    #[handler]
    async fn newest(
        &self,
        ctx: SharedObjectContext<'_>,
        ask: Json<NewestAsk>,
    ) -> HandlerResult<Json<Vec<StoredRow>>> {
        let NewestAsk { skip, limit } = ask.into_inner();
        let total = read(ctx.get::<Json<ShardHead>>(key::HEAD).await?).rows;
        let until = total.saturating_sub(skip);
        let from = until.saturating_sub(limit.min(READ_MAX));
        let numbers = from / IDS_PER_PAGE..until.div_ceil(IDS_PER_PAGE);
        let first = numbers.start * IDS_PER_PAGE;
        let ids = get_all!(ctx, Vec<String>, numbers.map(key::ids));
        let ids = (first..).zip(ids.iter().flatten()).filter(|(number, _)| (from..until).contains(number));
        let rows = get_all!(ctx, ShardRow, ids.map(|(_, id)| key::row(id)));
        Ok(Json(rows.into_iter().rev().map(|of| of.row).collect()))
    }
}

fn shard(key: &str) -> u64 {
    key.parse().unwrap_or_default()
}

fn read(head: Option<Json<ShardHead>>) -> ShardHead {
    head.map(Json::into_inner).unwrap_or_default()
}

/// Notifies all followers.
fn wake(ctx: &ObjectContext<'_>, head: &mut ShardHead) {
    let mark = ShardMark::from(&*head);
    for waiting in head.waiting.drain(..) {
        ctx.resolve_awakeable(&waiting.awakeable, Json(mark));
    }
}

/// Writes all parts of a change but the head, which it returns.
async fn write(ctx: &ObjectContext<'_>, change: ShardChange) -> HandlerResult<ShardHead> {
    let ShardChange { head, row, first, entries, pages, removed, is_new } = change;
    let id = row.row.new.id.to_string();
    for (number, entry) in (first..).zip(entries) {
        ctx.set(&key::entry(number), Json(entry));
    }
    for (page, places) in pages {
        ctx.set(&key::places(&id, page), Json(places));
    }
    ctx.set(&key::row(&id), Json(row));
    for number in removed {
        ctx.clear(&key::entry(number));
    }
    if is_new {
        let page = key::ids((head.rows - 1) / IDS_PER_PAGE);
        let mut ids = ctx.get::<Json<Vec<String>>>(&page).await?.map(Json::into_inner).unwrap_or_default();
        ids.push(id);
        ctx.set(&page, Json(ids));
    }
    Ok(head)
}

/// Returns the keys of the rows of entries, each once.
fn rows_of(entries: &[FeedEntry]) -> impl Iterator<Item = String> + use<> {
    let ids: BTreeSet<String> = entries.iter().map(|entry| key::row(&entry.id)).collect();
    ids.into_iter()
}
