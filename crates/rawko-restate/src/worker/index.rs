//! The virtual object of a shard of the index. Its exclusive handlers only write; no call is made in them. One more object
//! of the same kind knows the running workers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use restate_sdk::context::RequestTarget;
use restate_sdk::prelude::*;

use super::shard::ShardChange;
use crate::layout::StoredRow;
use crate::layout::index::{
    ENTRIES_PER_PAGE, FeedAsk, FeedEntry, FeedPart, IDS_PER_PAGE, INDEX, IndexBeat, IndexBeats, IndexBuild,
    IndexedStep, ListenAsk, NewestAsk, PLACES_PER_PAGE, PlacesAsk, RecordPlaces, SealAsk, ShardHead,
    ShardMark, ShardRow, WaitAsk, WaitingFollower, handler, key,
};

/// Entries and rows in one response.
const READ_MAX: u64 = 1_000;
/// Followers that a shard notifies; more must ask again.
const WAITING_MAX: usize = 256;

/// A call that waits returns after this time in any case: it belongs to one deployment of workers.
const WAIT_MAX: Duration = Duration::from_secs(20);

pub(super) struct IndexObject;

/// Reads all of these keys at a time, through any kind of context.
macro_rules! get_each {
    ($ctx:expr, $of:ty, $keys:expr) => {{
        let keys: Vec<String> = $keys.collect();
        let asked: Vec<_> = keys.iter().map(|key| $ctx.get::<Json<$of>>(key)).collect();
        let mut found: Vec<Option<$of>> = Vec::with_capacity(asked.len());
        for value in asked {
            found.push(value.await?.map(Json::into_inner));
        }
        found
    }};
}

/// The same, without those that are absent.
macro_rules! get_all {
    ($ctx:expr, $of:ty, $keys:expr) => {
        get_each!($ctx, $of, $keys).into_iter().flatten().collect::<Vec<$of>>()
    };
}

/// Begins a change of some instances, by the ids of all of them.
macro_rules! change_of {
    ($ctx:expr, $ids:expr) => {{
        let head = $ctx.get::<Json<ShardHead>>(key::HEAD);
        let keys: BTreeSet<String> = $ids.map(key::row).collect();
        let rows = get_all!($ctx, ShardRow, keys.into_iter());
        ShardChange::new(read(head.await?), rows)
    }};
}

/// Returns entries, and the current rows of their instances.
macro_rules! feed_part {
    ($ctx:expr, $head:expr, $ask:expr) => {{
        let ask: FeedAsk = $ask;
        let last = $head.entries.min(ask.after.saturating_add(ask.limit.min(READ_MAX)));
        let first = ask.after.max($head.removed);
        let full = $head.entries / ENTRIES_PER_PAGE;
        let pages = first / ENTRIES_PER_PAGE..last.div_ceil(ENTRIES_PER_PAGE).min(full);
        // Some may be removed meanwhile: this handler does not wait for others.
        let found = get_each!($ctx, Vec<FeedEntry>, pages.clone().map(key::entries));
        let full_ones = pages
            .zip(found)
            .flat_map(|(page, entries)| numbered(page * ENTRIES_PER_PAGE, entries.unwrap_or_default()));
        let all = full_ones.chain(numbered(full * ENTRIES_PER_PAGE, $head.tail.clone()));
        let entries: Vec<FeedEntry> =
            all.filter(|(number, _)| (first..last).contains(number)).map(|(_, entry)| entry).collect();
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
    /// Adds steps of instances.
    #[handler]
    async fn append(&self, ctx: ObjectContext<'_>, steps: Json<Vec<IndexedStep>>) -> HandlerResult<()> {
        let steps = steps.into_inner();
        let mut change = change_of!(ctx, steps.iter().map(|step| &*step.row.new.id));
        for step in steps {
            change.add(shard(ctx.key()), step);
        }
        if change.changed.is_empty() { Ok(()) } else { write(&ctx, change).await }
    }

    /// Adds instances that existed before the index, and steps that no worker has added since.
    #[handler]
    async fn build(&self, ctx: ObjectContext<'_>, part: Json<IndexBuild>) -> HandlerResult<()> {
        let IndexBuild { rows, is_last } = part.into_inner();
        let mut change = change_of!(ctx, rows.iter().map(|row| &*row.new.id));
        for row in rows {
            change.add_scanned(shard(ctx.key()), row);
        }
        let is_unchanged = change.changed.is_empty() && change.head.is_built >= is_last;
        change.head.is_built |= is_last;
        if is_unchanged { Ok(()) } else { write(&ctx, change).await }
    }

    /// Notes that a worker runs, and returns all that do, or did.
    #[handler]
    async fn beat(&self, ctx: ObjectContext<'_>, beat: Json<IndexBeat>) -> HandlerResult<Json<IndexBeats>> {
        let IndexBeat { boot, count, gone } = beat.into_inner();
        let beats = ctx.get::<Json<IndexBeats>>(key::BEATS).await?;
        let mut beats = beats.map(Json::into_inner).unwrap_or_default();
        beats.retain(|other, _| *other != boot && !gone.contains(other));
        beats.extend(count.map(|count| (boot, count)));
        ctx.set(key::BEATS, Json(beats.clone()));
        Ok(Json(beats))
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
        let full = head.entries / ENTRIES_PER_PAGE;
        // All entries of the pages before `low` are up to the position; the last one of `high` is not.
        let (mut low, mut high, mut found) = (head.removed / ENTRIES_PER_PAGE, full, head.tail);
        while low < high {
            let middle = low.midpoint(high);
            let page = ctx.get::<Json<Vec<FeedEntry>>>(&key::entries(middle)).await?.map(Json::into_inner);
            match page {
                Some(page) if page.last().is_some_and(|last| last.at > at) => (high, found) = (middle, page),
                // Removed meanwhile.
                Some(_) | None => low = middle + 1,
            }
        }
        let number = low * ENTRIES_PER_PAGE + found.partition_point(|entry| entry.at <= at) as u64;
        // The removed entries may be later than the position, too.
        let is_known = number > head.removed || head.removed == 0;
        Ok(Json(is_known.then_some(number)))
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

/// Writes a change and notifies all followers.
async fn write(ctx: &ObjectContext<'_>, mut change: ShardChange) -> HandlerResult<()> {
    change.trim();
    let ShardChange { mut head, mut rows, changed, new, places, pages, removed } = change;
    if !new.is_empty() {
        let mut number = head.rows - new.len() as u64;
        let first = key::ids(number / IDS_PER_PAGE);
        let mut ids = ctx.get::<Json<Vec<Arc<str>>>>(&first).await?.map(Json::into_inner).unwrap_or_default();
        for id in new {
            ids.push(id);
            number += 1;
            if number.is_multiple_of(IDS_PER_PAGE) {
                ctx.set(&key::ids(number / IDS_PER_PAGE - 1), Json(std::mem::take(&mut ids)));
            }
        }
        if !ids.is_empty() {
            ctx.set(&key::ids(number / IDS_PER_PAGE), Json(ids));
        }
    }
    for (page, entries) in pages {
        ctx.set(&key::entries(page), Json(entries));
    }
    for (id, page, places) in places {
        ctx.set(&key::places(&id, page), Json(places));
    }
    for row in changed.iter().filter_map(|id| rows.remove(id)) {
        ctx.set(&key::row(&row.row.new.id), Json(row));
    }
    for page in removed {
        ctx.clear(&key::entries(page));
    }
    let mark = ShardMark::from(&head);
    for waiting in head.waiting.drain(..) {
        ctx.resolve_awakeable(&waiting.awakeable, Json(mark));
    }
    // Last, so that a reader of the head finds everything that it counts.
    ctx.set(key::HEAD, Json(head));
    Ok(())
}

/// Returns entries with the number of known ones before each.
fn numbered(before: u64, entries: Vec<FeedEntry>) -> impl Iterator<Item = (u64, FeedEntry)> {
    (before..).zip(entries)
}

/// Returns the keys of the rows of entries, each once.
fn rows_of(entries: &[FeedEntry]) -> impl Iterator<Item = String> + use<> {
    let ids: BTreeSet<String> = entries.iter().map(|entry| key::row(&entry.id)).collect();
    ids.into_iter()
}
