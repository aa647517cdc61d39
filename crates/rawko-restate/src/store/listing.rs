//! Lists: from the rows in memory, which are read once; the first page of a process that has read none yet, from the ends of
//! the shards.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use rawko_store::{Filter, InstanceKey, InstancePage, InstanceRow, SavedSnapshot, SnapshotBase, StoreError};

use super::rows::InstanceRows;
use super::{RestateStore, StoreCache};
use crate::layout::index::{NewestAsk, SHARDS};
use crate::layout::{LiveState, StoredRow};

/// After a request that no worker answered, the next ones use queries for this long.
const UNANSWERED: Duration = Duration::from_secs(5);
/// Maximum time to wait for another reader.
const TURN_WITHIN: Duration = Duration::from_secs(3);
const BETWEEN_TRIES: Duration = Duration::from_millis(1);
/// The lists of one page are read within this time.
const FRESH: Duration = Duration::from_millis(50);
/// Up to this many instances, all rows are read at once.
const FEW: u64 = 512;
/// Rows per request to a shard.
const NEWEST_AT_ONCE: u64 = 16;
/// Instances appear in the index in the order of their first steps, up to this difference.
const DISORDER_MS: i64 = 1_000;

/// Maximum number of cached bases.
const BASES_MAX: usize = 1_024;

/// Bases of snapshots, one for each instance.
type Bases = Vec<Result<Option<SnapshotBase>, StoreError>>;

impl RestateStore {
    /// Returns all instances, by a query over everything that is stored.
    pub(super) fn scan(&self) -> Result<Vec<StoredRow>, StoreError> {
        self.state.rows()
    }

    /// Returns the rows of instances whose last records are not in the index, in the order in which they began.
    #[cfg(feature = "worker")]
    pub(crate) fn unindexed(&self) -> Result<Vec<StoredRow>, StoreError> {
        let rows = self.scan()?;
        let mut known = HashMap::new();
        for shard in 0..SHARDS {
            known.extend(self.state.indexed(shard)?.into_iter().map(|row| (row.key, row.records)));
        }
        Ok(unindexed(rows, &known))
    }

    /// Returns true if a worker did not answer a moment ago.
    pub(super) fn is_unanswered(&self) -> bool {
        self.memory().unanswered.is_some_and(|at| at.elapsed() < UNANSWERED)
    }

    /// Returns true if the index has all instances.
    pub(super) fn is_built(&self) -> bool {
        !self.is_unanswered()
            && matches!(self.index.quick().peek(), Ok(Some(marks)) if marks.iter().all(|mark| mark.is_built))
    }

    /// Calls with the rows of all instances.
    pub(super) fn with_rows<T>(&self, read: impl FnOnce(&InstanceRows) -> T) -> Result<T, StoreError> {
        if self.refresh_rows()
            && let Some(rows) = &self.memory().rows
        {
            return Ok(read(rows));
        }
        let rows = self.scan()?;
        self.memory().know(&rows);
        Ok(read(&rows.into_iter().collect()))
    }

    /// Brings the rows up to date. Returns false if there is no index, or no worker that answers.
    fn refresh_rows(&self) -> bool {
        if self.is_unanswered() {
            return false;
        }
        if self.memory().has_fresh_rows() {
            return true;
        }
        self.await_expected();
        let Some(_turn) = self.soon(TURN_WITHIN) else { return false };
        let now = Instant::now();
        match self.catch_up(&self.index.quick()) {
            Ok(true) => {
                let is_read = self.memory().rows.is_some() || self.read_rows().is_ok();
                self.memory().fresh = Some(now).filter(|_| is_read);
                is_read
            }
            Ok(false) => false,
            Err(_) => {
                self.memory().unanswered = Some(Instant::now());
                false
            }
        }
    }

    /// Returns the turn, unless another reader has it for long: it waits for a worker.
    pub(super) fn soon(&self, within: Duration) -> Option<MutexGuard<'_, ()>> {
        let until = Instant::now() + within;
        loop {
            match self.turn.try_lock() {
                Ok(turn) => return Some(turn),
                Err(TryLockError::Poisoned(turn)) => return Some(turn.into_inner()),
                Err(TryLockError::WouldBlock) if Instant::now() > until => return None,
                Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN_TRIES),
            }
        }
    }

    /// Reads all rows of the index; in turn, after the feed has begun.
    fn read_rows(&self) -> Result<(), StoreError> {
        let mut all = Vec::new();
        for shard in 0..SHARDS {
            all.extend(self.state.indexed(shard)?);
        }
        let mut memory = self.memory();
        memory.know(&all);
        memory.rows = Some(all.into_iter().collect());
        Ok(())
    }

    /// Returns the first list of a process, if it is the first page of an unfiltered one and there are many rows.
    pub(super) fn first_page(&self, filter: &Filter) -> Result<Option<InstancePage>, StoreError> {
        let is_plain =
            Filter { roots_only: false, limit: 0, driven: filter.driven.clone(), ..filter.clone() }
                == Filter { driven: filter.driven.clone(), ..Filter::default() };
        // A process that lists again keeps the rows.
        let is_first = !std::mem::replace(&mut self.memory().has_listed, true);
        if !is_first || !is_plain || filter.limit == 0 || self.is_unanswered() {
            return Ok(None);
        }
        self.await_expected();
        let index = self.index.quick();
        let Ok(Some(marks)) = index.peek() else { return Ok(None) };
        let (rows, roots) =
            marks.iter().fold((0, 0), |(rows, roots), mark| (rows + mark.rows, roots + mark.roots));
        // Few roots among many children would be searched for long.
        if rows <= FEW || roots < rows / 8 || marks.iter().any(|mark| !mark.is_built) {
            return Ok(None);
        }
        let mut found: Vec<StoredRow> = Vec::new();
        let mut open: HashMap<u64, u64> = (0..SHARDS).map(|shard| (shard, 0)).collect();
        while !open.is_empty() {
            let ask =
                |(shard, skip): (&u64, &u64)| (*shard, NewestAsk { skip: *skip, limit: NEWEST_AT_ONCE });
            let mut oldest = HashMap::new();
            for (shard, rows) in index.newest(open.iter().map(ask).collect())? {
                oldest.insert(shard, rows.last().map(|row| row.new.created_ms));
                found.extend(rows.into_iter().filter(|row| !filter.roots_only || row.new.parent.is_none()));
            }
            keep_newest(&mut found, filter.limit.saturating_add(1));
            let needed = found.get(filter.limit - 1).map(|row| row.new.created_ms);
            open.retain(|shard, skip| {
                *skip += NEWEST_AT_ONCE;
                let oldest = oldest.get(shard).copied().flatten();
                oldest.is_some_and(|oldest| needed.is_none_or(|needed| oldest + DISORDER_MS >= needed))
            });
        }
        self.memory().know(&found);
        let has_more = found.len() > filter.limit;
        found.truncate(filter.limit);
        let next = found.last().filter(|_| has_more).map(|row| row.key);
        let total = if filter.roots_only { roots } else { rows };
        Ok(Some(InstancePage { rows: found.into_iter().map(InstanceRow::from).collect(), next, total }))
    }

    /// Returns the bases of the last steps: of instances that have not moved from memory, of the others all at a time.
    pub(super) fn live_bases(&self, keys: &[InstanceKey]) -> Result<Bases, StoreError> {
        let mut ids: Vec<(InstanceKey, Arc<str>)> = Vec::with_capacity(keys.len());
        for key in keys {
            ids.extend(self.id_of(*key)?.map(|id| (*key, id)));
        }
        let mut found: HashMap<InstanceKey, SnapshotBase> = HashMap::new();
        {
            let memory = self.memory();
            for (key, _) in &ids {
                found.extend(memory.known_base(*key).map(|base| (*key, base)));
            }
        }
        let missing: Vec<Arc<str>> =
            ids.iter().filter(|(key, _)| !found.contains_key(key)).map(|(_, id)| Arc::clone(id)).collect();
        if missing.len() > 1 && !self.is_unanswered() {
            // Without a worker, each is queried.
            for (id, live) in missing.iter().zip(self.index.quick().live(&missing).unwrap_or_default()) {
                if let Some(live) = live {
                    let (key, moved_ms) = (live.row.key, live.row.updated_ms);
                    let base = self.base_of(id, live);
                    self.memory().keep_base(key, moved_ms, base.clone());
                    found.insert(key, base);
                }
            }
        }
        let base = |key: &InstanceKey| match found.remove(key) {
            Some(base) => Ok(Some(base)),
            None => rawko_store::Store::base(self, *key, None),
        };
        Ok(keys.iter().map(base).collect())
    }

    /// Returns the base of the last step.
    pub(super) fn base_of(&self, id: &Arc<str>, live: LiveState) -> SnapshotBase {
        self.memory().blobs.mentioned(&[&live.snapshot], id);
        let snapshot = SavedSnapshot { step: live.row.step, body: live.snapshot };
        SnapshotBase { snapshot, records: Vec::new() }
    }
}

/// Keeps the newest rows, each once: an instance that began between two requests moves the others, so that some of them come
/// again.
fn keep_newest(rows: &mut Vec<StoredRow>, most: usize) {
    rows.sort_unstable_by_key(|row| std::cmp::Reverse((row.new.created_ms, row.key, row.records)));
    rows.dedup_by_key(|row| row.key);
    rows.truncate(most);
}

/// Returns the rows of instances whose last records are not in the index, in the order in which they began.
#[cfg(any(feature = "worker", test))]
fn unindexed(mut rows: Vec<StoredRow>, known: &HashMap<InstanceKey, u64>) -> Vec<StoredRow> {
    rows.retain(|row| known.get(&row.key).is_none_or(|known| *known < row.records));
    rows.sort_by_key(|row| (row.new.created_ms, row.key));
    rows
}

impl StoreCache {
    /// Returns true if the rows were brought up to date a moment ago, and this process has changed nothing since: one page
    /// takes several lists.
    fn has_fresh_rows(&self) -> bool {
        let is_fresh = self.fresh.is_some_and(|at| at.elapsed() < FRESH);
        is_fresh && self.rows.is_some() && self.expected.is_empty()
    }

    /// Returns the base of an instance, unless it has moved since, by its row.
    fn known_base(&self, key: InstanceKey) -> Option<SnapshotBase> {
        let row = self.rows.as_ref()?.row(key)?;
        let (moved_ms, base) = self.bases.get(&key)?;
        (*moved_ms == row.updated_ms && base.snapshot.step == row.step).then(|| base.clone())
    }

    fn keep_base(&mut self, key: InstanceKey, moved_ms: i64, base: SnapshotBase) {
        if self.bases.len() >= BASES_MAX {
            self.bases.clear();
        }
        self.bases.insert(key, (moved_ms, base));
    }
}

#[cfg(test)]
mod tests {
    use rawko_store::{Head, NewInstance};

    use super::*;
    use crate::layout::instance_key;

    fn row(id: &str, created_ms: i64, records: u64) -> StoredRow {
        let new = NewInstance {
            id: id.into(),
            chart: [7; 16],
            chart_id: "order".into(),
            version: "1.0.0".into(),
            parent: None,
            origin: None,
            created_ms,
            policy: "".into(),
        };
        let (head, key) = (Head::default(), instance_key(id));
        StoredRow { updated_ms: 9, key, new, head, step: records, records, audit: 0, to_itself: 0 }
    }

    fn shown(rows: &[StoredRow]) -> Vec<(&str, u64)> {
        rows.iter().map(|row| (&*row.new.id, row.records)).collect()
    }

    #[test]
    fn a_row_that_two_requests_returned_is_listed_once() {
        let mut rows = vec![row("a", 1, 1), row("c", 3, 1), row("b", 2, 1), row("b", 2, 4), row("c", 3, 2)];
        keep_newest(&mut rows, 3);
        assert_eq!(shown(&rows), [("c", 2), ("b", 4), ("a", 1)]);
        keep_newest(&mut rows, 2);
        assert_eq!(shown(&rows), [("c", 2), ("b", 4)]);
    }

    #[test]
    fn rows_with_more_records_than_the_index_has_are_unindexed() {
        let rows = vec![row("new", 4, 1), row("moved", 3, 5), row("same", 2, 2), row("older", 1, 1)];
        let known =
            [("moved", 4), ("same", 2), ("older", 2)].map(|(id, records)| (instance_key(id), records));
        assert_eq!(shown(&unindexed(rows, &HashMap::from(known))), [("moved", 5), ("new", 1)]);
    }
}
