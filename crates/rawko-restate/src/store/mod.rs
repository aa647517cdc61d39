//! `RestateStore`: reads the state in Restate like any other store. Lists and the order of all records come from the index
//! (`layout::index`), whose shards answer through a worker. Without one, instances are read by SQL on the admin API.
//! Writing is refused: only a worker changes an instance, in the instance's own handler.
//!
//! Rows are read once and kept up to date by the index; without a worker or an index, every list scans all instances.

mod asking;
mod blobs;
mod feed;
mod index;
mod journal;
mod listing;
mod older;
mod order;
mod places;
mod rows;
mod state;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rawko_store::{
    AuditLine, Blob, ChartHash, ChartRow, Commit, Filter, HighestNumbers, Inbound, InstanceKey, InstancePage,
    InstanceRow, OpenEffect, Record, SnapshotBase, Store, StoreError, StoreReport,
};

use crate::client::{Restate, RestateError};
use crate::layout::{LiveState, StoredRow, instance_key};
use blobs::Blobs;
use feed::Feed;
use index::IndexClient;
use journal::Journals;
use places::InstancePlaces;
use rows::InstanceRows;
use state::RestateState;

/// The format of the state of instances (`layout`).
const FORMAT: u32 = 1;

/// A store that reads from a Restate server.
pub struct RestateStore {
    state: RestateState,
    index: IndexClient,
    memory: Mutex<StoreCache>,
    /// Held while the feed or the rows are brought up to date.
    turn: Mutex<()>,
    /// A server reads: its clients come back, so requests fail soon without a worker.
    is_serving: AtomicBool,
}

/// Cached data. Only immutable parts are trusted; the rest are hints for lookups.
#[derive(Default)]
struct StoreCache {
    ids: HashMap<InstanceKey, Arc<str>>,
    charts: HashMap<ChartHash, ChartRow>,
    journals: Journals,
    blobs: Blobs,
    feed: Option<Feed>,
    /// Up to date with the feed.
    rows: Option<InstanceRows>,
    places: HashMap<InstanceKey, InstancePlaces>,
    /// With the time of the instance's last change.
    bases: HashMap<InstanceKey, (i64, SnapshotBase)>,
    /// Steps that this process knows of, and that the index may not have yet.
    expected: BTreeMap<Arc<str>, u64>,
    /// The time of the last look at the index for lists.
    fresh: Option<Instant>,
    /// A list was read.
    has_listed: bool,
    /// A follower adds to the feed whenever there is more.
    is_followed: bool,
    /// The last time that no worker answered.
    unanswered: Option<Instant>,
}

impl RestateStore {
    /// Starts a thread for requests, without connecting.
    pub fn new(restate: &Restate) -> Result<RestateStore, RestateError> {
        let state = RestateState::new(restate)?;
        let index = IndexClient::new(restate, state.asking())?;
        Ok(RestateStore {
            state,
            index,
            memory: Mutex::default(),
            turn: Mutex::default(),
            is_serving: AtomicBool::default(),
        })
    }

    /// Returns the position of the last record that is in the index now.
    pub(crate) fn end(&self) -> Result<u64, StoreError> {
        self.look_for_news()?;
        Ok(self.memory().feed.as_ref().map_or(0, Feed::frontier))
    }

    /// Everything in it is a hint or immutable, so a poisoned lock is harmless.
    fn memory(&self) -> MutexGuard<'_, StoreCache> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn row(&self, id: &str) -> Result<Option<StoredRow>, StoreError> {
        let row = self.live(id)?.map(|live| live.row);
        self.memory().know(row.as_slice());
        Ok(row)
    }

    /// Returns the current state of an instance. A worker answers sooner than a query.
    fn live(&self, id: &str) -> Result<Option<LiveState>, StoreError> {
        if !self.is_unanswered() {
            match self.index.quick().live(&[id.into()]) {
                Ok(found) => return Ok(found.into_iter().next().flatten()),
                Err(_) => self.memory().unanswered = Some(Instant::now()),
            }
        }
        self.state.live(id)
    }

    /// Returns the id of an instance; `None` if the key is unknown.
    fn id_of(&self, key: InstanceKey) -> Result<Option<Arc<str>>, StoreError> {
        if let Some(id) = self.memory().ids.get(&key) {
            return Ok(Some(Arc::clone(id)));
        }
        let found = self.with_rows(|rows| rows.id(key))?;
        if let Some(id) = &found {
            self.memory().ids.insert(key, Arc::clone(id));
        }
        Ok(found)
    }

    /// Returns the records of an instance numbered above `after`.
    fn journal(&self, id: &Arc<str>, after: u64) -> Result<Vec<Record>, StoreError> {
        let key = instance_key(id);
        let mut records = self.memory().journals.of(key, after);
        let last = after + records.len() as u64;
        let new = self.state.records(id, last)?;
        if !new.is_empty() {
            self.mention(id, &new);
            self.memory().journals.extend(key, last, &new);
        }
        records.extend(new);
        Ok(records)
    }

    /// Notes the blobs that records refer to.
    fn mention(&self, id: &Arc<str>, records: &[Record]) {
        let mut memory = self.memory();
        for record in records {
            memory.blobs.mentioned(&[&record.event, &record.delta, &record.effects], id);
        }
    }

    /// Returns the last stored snapshot up to a step, and the records after it.
    fn past(&self, id: &Arc<str>, at: u64) -> Result<Option<SnapshotBase>, StoreError> {
        let Some(mark) = self.state.marks(id)?.into_iter().rfind(|mark| mark.step <= at) else {
            return Ok(None);
        };
        let Some(snapshot) = self.state.snapshot(id, mark.step)? else { return Ok(None) };
        self.memory().blobs.mentioned(&[&snapshot.body], id);
        let records = journal::between(self.journal(id, mark.record)?, mark.step, at);
        Ok(Some(SnapshotBase { snapshot, records }))
    }
}

impl StoreCache {
    fn know(&mut self, rows: &[StoredRow]) {
        for row in rows {
            self.ids.entry(row.key).or_insert_with(|| Arc::clone(&row.new.id));
        }
    }
}

impl Store for RestateStore {
    fn commit(&self, _: &[Commit]) -> Result<(), StoreError> {
        Err(StoreError::Refused("an instance on Restate is changed by a worker, not from here".to_owned()))
    }

    fn put_chart(&self, _: &ChartRow) -> Result<(), StoreError> {
        Err(StoreError::Refused("a chart on Restate is kept by a worker, not from here".to_owned()))
    }

    fn chart(&self, hash: &ChartHash) -> Result<Option<ChartRow>, StoreError> {
        if let Some(known) = self.memory().charts.get(hash) {
            return Ok(Some(known.clone()));
        }
        let found = self.state.chart(hash)?;
        if let Some(chart) = &found {
            self.memory().charts.insert(*hash, chart.clone());
        }
        Ok(found)
    }

    fn charts(&self) -> Result<Vec<ChartRow>, StoreError> {
        let mut charts = self.state.charts()?;
        charts.sort_by(|one, other| {
            let order = (&one.id, &one.version).cmp(&(&other.id, &other.version));
            order.then(other.added_ms.cmp(&one.added_ms))
        });
        Ok(charts)
    }

    fn find(&self, id: &str) -> Result<Option<InstanceRow>, StoreError> {
        Ok(self.row(id)?.map(InstanceRow::from))
    }

    fn instance(&self, key: InstanceKey) -> Result<Option<InstanceRow>, StoreError> {
        let Some(id) = self.id_of(key)? else { return Ok(None) };
        self.find(&id)
    }

    fn list(&self, filter: &Filter) -> Result<InstancePage, StoreError> {
        match self.first_page(filter)? {
            Some(page) => Ok(page),
            None => self.with_rows(|rows| rows.page(filter)),
        }
    }

    fn children(&self, id: &str) -> Result<Vec<InstanceRow>, StoreError> {
        self.with_rows(|rows| rows.children(id))
    }

    /// The rows have one, but reading the spending of many children takes a request each.
    fn has_index_of_children(&self) -> bool {
        false
    }

    fn base(&self, key: InstanceKey, at: Option<u64>) -> Result<Option<SnapshotBase>, StoreError> {
        let Some(id) = self.id_of(key)? else { return Ok(None) };
        let Some(live) = self.live(&id)? else { return Ok(None) };
        match at {
            Some(at) if at < live.row.step => self.past(&id, at),
            Some(_) | None => Ok(Some(self.base_of(&id, live))),
        }
    }

    fn bases(
        &self,
        keys: &[InstanceKey],
    ) -> Result<Vec<Result<Option<SnapshotBase>, StoreError>>, StoreError> {
        self.live_bases(keys)
    }

    fn records(&self, key: InstanceKey, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        let Some(id) = self.id_of(key)? else { return Ok(Vec::new()) };
        let records = self.journal(&id, 0)?;
        let records = self.placed(&id, key, records)?.into_iter();
        Ok(records.filter(|record| record.seq > after).take(limit).collect())
    }

    fn tail(&self, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.after(after, limit)
    }

    /// Includes the steps that this process knows of.
    fn last_seq(&self) -> Result<u64, StoreError> {
        self.await_expected();
        self.end()
    }

    fn open_effects(&self, key: Option<InstanceKey>) -> Result<Vec<OpenEffect>, StoreError> {
        let Some(key) = key else { return self.state.open_effects() };
        let Some(id) = self.id_of(key)? else { return Ok(Vec::new()) };
        let open = self.live(&id)?.map(|live| live.open).unwrap_or_default();
        let mut memory = self.memory();
        open.iter().for_each(|effect| memory.blobs.mentioned(&[&effect.body], &id));
        Ok(open)
    }

    /// Messages in flight are in Restate's own queues.
    fn inbound(&self, _: Option<InstanceKey>) -> Result<Vec<Inbound>, StoreError> {
        Ok(Vec::new())
    }

    fn timers(&self) -> Result<Vec<(InstanceKey, i64)>, StoreError> {
        let due = |row: &StoredRow| row.head.next_due_ms.map(|due| (row.key, due));
        let mut timers: Vec<_> = self.with_rows(|rows| rows.iter().filter_map(due).collect())?;
        timers.sort_by_key(|(key, due)| (*due, *key));
        Ok(timers)
    }

    fn delivered(&self, key: InstanceKey, delivery: &str) -> Result<Option<u64>, StoreError> {
        let Some(id) = self.id_of(key)? else { return Ok(None) };
        self.state.delivered(&id, delivery)
    }

    fn blob(&self, hash: &[u8; 16]) -> Result<Option<Blob>, StoreError> {
        if let Some(known) = self.memory().blobs.get(hash) {
            return Ok(Some(known));
        }
        let asked = self.memory().blobs.wanted_with(hash);
        let found = match &asked {
            Some((id, names)) => self.state.blobs(id, names)?,
            None => self.state.blob_anywhere(hash)?,
        };
        let id = asked.map(|(id, _)| id);
        let mut memory = self.memory();
        found.into_iter().for_each(|blob| memory.blobs.keep(blob, id.as_ref()));
        Ok(memory.blobs.get(hash))
    }

    fn audit(&self, instance: Option<&str>, limit: usize) -> Result<Vec<AuditLine>, StoreError> {
        let mut lines = match instance {
            Some(id) => self.state.audit_of(id)?,
            None => self.state.audit()?,
        };
        let from = lines.len().saturating_sub(limit);
        Ok(lines.split_off(from))
    }

    /// Keys are hashes of ids, so there are no counters to continue.
    fn marks(&self) -> Result<HighestNumbers, StoreError> {
        Ok(HighestNumbers::default())
    }

    fn report(&self) -> Result<StoreReport, StoreError> {
        let sizes = self.state.sizes()?;
        Ok(StoreReport {
            place: self.state.place(),
            format: FORMAT,
            bytes: sizes.bytes,
            instances: sizes.instances,
            records: sizes.records,
            problems: self.state.problems()?,
            ..StoreReport::default()
        })
    }
}
