//! `RestateStore`: reads the state in Restate like any other store. Uses SQL on the admin API, so that reading needs no
//! worker. Writing is refused: only a worker changes an instance, in the instance's own handler.
//!
//! It adds two things that Restate does not have:
//! - *Newest first*, which needs the start time of instances, since their keys are hashes of ids.
//! - *One order over all records*: by time, then by number within an instance (see `order`). A record that is found
//!   late, because its commit took long to become visible, comes after those found before (see `feed`).

mod asking;
mod blobs;
mod feed;
mod journal;
mod order;
mod state;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rawko_store::{
    AuditLine, Blob, ChartHash, ChartRow, Commit, Filter, HighestNumbers, Inbound, InstanceKey, InstancePage,
    InstanceRow, OpenEffect, Record, SavedSnapshot, SnapshotBase, Store, StoreError, StoreReport,
};

use crate::client::{Restate, RestateError};
use crate::layout::{StoredRow, instance_key};
use blobs::Blobs;
use feed::Feed;
use journal::Journals;
use state::RestateState;

/// The format of the state of instances (`layout`).
const FORMAT: u32 = 1;

/// A store that reads from a Restate server.
pub struct RestateStore {
    state: RestateState,
    memory: Mutex<StoreCache>,
}

/// Cached data. Only immutable parts are trusted; the rest are hints for lookups.
#[derive(Default)]
struct StoreCache {
    ids: HashMap<InstanceKey, Arc<str>>,
    charts: HashMap<ChartHash, ChartRow>,
    journals: Journals,
    blobs: Blobs,
    feed: Option<Feed>,
}

impl RestateStore {
    /// Starts a thread for requests to the admin API, without connecting.
    pub fn new(restate: &Restate) -> Result<RestateStore, RestateError> {
        Ok(RestateStore { state: RestateState::new(restate)?, memory: Mutex::default() })
    }

    /// Everything in it is a hint or immutable, so a poisoned lock is harmless.
    fn memory(&self) -> MutexGuard<'_, StoreCache> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all instances, newest first.
    fn rows(&self) -> Result<Vec<StoredRow>, StoreError> {
        let mut rows = self.state.rows()?;
        rows.sort_by_key(|row| std::cmp::Reverse((row.new.created_ms, row.key)));
        self.memory().know(&rows);
        Ok(rows)
    }

    fn row(&self, id: &str) -> Result<Option<StoredRow>, StoreError> {
        let row = self.state.row(id)?;
        self.memory().know(row.as_slice());
        Ok(row)
    }

    /// Returns the id of an instance; `None` if the key is unknown.
    fn id_of(&self, key: InstanceKey) -> Result<Option<Arc<str>>, StoreError> {
        if let Some(id) = self.memory().ids.get(&key) {
            return Ok(Some(Arc::clone(id)));
        }
        self.rows()?;
        Ok(self.memory().ids.get(&key).cloned())
    }

    /// Returns the records of an instance numbered above `after`.
    fn journal(&self, id: &Arc<str>, after: u64) -> Result<Vec<Record>, StoreError> {
        let key = instance_key(id);
        let mut records = self.memory().journals.of(key, after);
        let last = after + records.len() as u64;
        let new = self.state.records(id, last)?;
        if !new.is_empty() {
            let mut memory = self.memory();
            for record in &new {
                memory.blobs.mentioned(&[&record.event, &record.delta, &record.effects], id);
            }
            memory.journals.extend(key, last, &new);
        }
        records.extend(new);
        Ok(records)
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
        Ok(order::page(self.rows()?, filter))
    }

    fn children(&self, id: &str) -> Result<Vec<InstanceRow>, StoreError> {
        let is_child = |row: &StoredRow| row.new.parent.as_ref().is_some_and(|parent| &*parent.id == id);
        Ok(self.rows()?.into_iter().rev().filter(is_child).map(InstanceRow::from).collect())
    }

    /// Restate searches all instances.
    fn has_index_of_children(&self) -> bool {
        false
    }

    fn base(&self, key: InstanceKey, at: Option<u64>) -> Result<Option<SnapshotBase>, StoreError> {
        let Some(id) = self.id_of(key)? else { return Ok(None) };
        let Some(live) = self.state.live(&id)? else { return Ok(None) };
        match at {
            Some(at) if at < live.row.step => self.past(&id, at),
            Some(_) | None => {
                self.memory().blobs.mentioned(&[&live.snapshot], &id);
                let snapshot = SavedSnapshot { step: live.row.step, body: live.snapshot };
                Ok(Some(SnapshotBase { snapshot, records: Vec::new() }))
            }
        }
    }

    fn records(&self, key: InstanceKey, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        let Some(id) = self.id_of(key)? else { return Ok(Vec::new()) };
        let records = self.journal(&id, 0)?.into_iter().map(order::placed);
        Ok(records.filter(|record| record.seq > after).take(limit).collect())
    }

    fn tail(&self, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.look_for_news()?;
        let begun = self.memory().feed.as_ref().map_or(0, Feed::begun);
        let mut found = if after < begun { self.history(after, begun, limit)? } else { Vec::new() };
        if let Some(feed) = &self.memory().feed {
            let rest = limit.saturating_sub(found.len());
            found.extend(feed.after(after).take(rest).cloned());
        }
        Ok(found)
    }

    fn last_seq(&self) -> Result<u64, StoreError> {
        self.look_for_news()?;
        Ok(self.memory().feed.as_ref().map_or(0, Feed::last))
    }

    fn open_effects(&self, key: Option<InstanceKey>) -> Result<Vec<OpenEffect>, StoreError> {
        let Some(key) = key else { return self.state.open_effects() };
        let Some(id) = self.id_of(key)? else { return Ok(Vec::new()) };
        let open = self.state.live(&id)?.map(|live| live.open).unwrap_or_default();
        let mut memory = self.memory();
        open.iter().for_each(|effect| memory.blobs.mentioned(&[&effect.body], &id));
        Ok(open)
    }

    /// Messages in flight are in Restate's own queues.
    fn inbound(&self, _: Option<InstanceKey>) -> Result<Vec<Inbound>, StoreError> {
        Ok(Vec::new())
    }

    fn timers(&self) -> Result<Vec<(InstanceKey, i64)>, StoreError> {
        let rows = self.rows()?;
        let mut timers: Vec<_> =
            rows.iter().filter_map(|row| row.head.next_due_ms.map(|due| (row.key, due))).collect();
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
