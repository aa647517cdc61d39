//! `ListIndex`: what lists sort by and add up, kept in memory beside the store: rows of all instances in any order, and the
//! usage of running children as sums. It reads only the instances that changed, with any number of children; the
//! first page of an order after a change sorts all instances again. Built when it is first needed; a store that cannot name
//! changed instances is read as a whole each time.

mod order;
mod sums;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rawko_core::Status;
use rawko_host::{SnapshotReader, Spent};
use rawko_store::{Filter, InstanceKey, InstancePage, InstanceRow, StoreError};

use order::SortedKeys;
pub use order::{ListOrder, SortKey, SortPosition, SortValue};
use sums::UsageSum;

use crate::rows::{self, state};
use crate::spending::{awaits, spent_until_now};

/// Sorted lists that are kept; people look at few at a time.
const LISTS_MAX: usize = 16;
/// Instances whose titles are read at once.
const TITLES_AT_ONCE: usize = 500;

/// The index of one reader. Cheap while no list is sorted and nothing has children that run.
#[derive(Debug, Default)]
pub struct ListIndex {
    /// Of all instances, for sorting.
    all: Mutex<IndexRows>,
    /// Of instances that have not ended, for usage.
    running: Mutex<IndexRows>,
}

/// A page of a sorted list.
#[derive(Debug)]
pub struct SortedPage {
    /// Rows and total. `next` is not used: see [`SortedPage::next`].
    pub page: InstancePage,
    /// The position of the last row, if there are more.
    pub next: Option<SortPosition>,
}

/// Differences between the statuses of the store and those that people see.
#[derive(Debug, Default)]
pub(crate) struct Corrections {
    /// Instances that match, although the store's status does not.
    pub(crate) added: Vec<InstanceKey>,
    /// Instances that do not match.
    pub(crate) removed: Vec<InstanceKey>,
    /// Instances that work only through others that wait for a person.
    pub(crate) asking: Vec<InstanceKey>,
}

#[derive(Debug, Default)]
struct IndexRows {
    /// `None`: not built.
    seq: Option<u64>,
    /// The store cannot name changed instances: the rows are those of this request, with everything.
    is_of_request: bool,
    by_key: HashMap<InstanceKey, IndexRow>,
    keys: HashMap<Arc<str>, InstanceKey>,
    /// Sorted lists of these rows.
    lists: Vec<(Filter, ListOrder, Arc<SortedKeys>)>,
}

#[derive(Debug)]
struct IndexRow {
    /// Without ledger and policy, which are large, unless it is of this request only.
    row: InstanceRow,
    own: UsageSum,
    /// Usage of children that run, with all below them.
    below: UsageSum,
    title: Option<Arc<str>>,
}

impl IndexRow {
    fn is_running(&self) -> bool {
        self.row.head.status == Status::Active
    }

    /// The part of its parent's usage that no ledger has yet.
    fn uncounted(&self) -> UsageSum {
        if self.is_running() { self.own.plus(self.below) } else { UsageSum::default() }
    }
}

impl ListIndex {
    /// Returns the usage of instances with everything that runs below them.
    pub(crate) fn spent(
        &self,
        reader: &SnapshotReader,
        wanted: &[InstanceRow],
    ) -> Result<Vec<Spent>, StoreError> {
        let is_needed = wanted.iter().any(|row| row.head.status == Status::Active);
        let has_index = reader.store().has_index_of_children();
        let running = match is_needed && has_index {
            true => Some(refreshed(&self.running, reader, Scope::Running)?),
            false => None,
        };
        let below =
            |row: &InstanceRow| running.as_ref().and_then(|rows| Some(rows.by_key.get(&row.key)?.below));
        let spent = |row: &InstanceRow| match awaits(row) {
            // The usage of children that were stopped a moment ago.
            true if has_index => spent_until_now(reader, row),
            _ => Ok(below(row).unwrap_or_default().added_to(rows::spent(row))),
        };
        wanted.iter().map(spent).collect()
    }

    /// Returns a page of instances in an order.
    pub(crate) fn page(
        &self,
        reader: &SnapshotReader,
        filter: &Filter,
        order: ListOrder,
        after: Option<&SortPosition>,
        corrections: &Corrections,
    ) -> Result<SortedPage, StoreError> {
        let mut all = refreshed(&self.all, reader, Scope::All)?;
        let sorted = all.sorted(reader, filter, order, corrections)?;
        let from = after.map_or(0, |after| sorted.after(order, after));
        let limit = if filter.limit == 0 { usize::MAX } else { filter.limit };
        let positions: Vec<SortPosition> = sorted.positions.iter().skip(from).take(limit).cloned().collect();
        let total = sorted.positions.len();
        let has_more = from.saturating_add(positions.len()) < total;
        let next = positions.last().filter(|_| has_more).cloned();
        let keys = positions.iter().map(|position| position.key);
        let rows = if all.is_of_request {
            keys.filter_map(|key| Some(all.by_key.get(&key)?.row.clone())).collect()
        } else {
            drop(all);
            reader.store().rows_of(&keys.collect::<Vec<InstanceKey>>())?
        };
        Ok(SortedPage { page: InstancePage { rows, next: None, total: total as u64 }, next })
    }
}

/// The instances of an index.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    All,
    Running,
}

impl Scope {
    fn has(self, row: &InstanceRow) -> bool {
        self == Scope::All || !row.head.status.is_over()
    }
}

/// Brings an index up to date.
fn refreshed<'i>(
    index: &'i Mutex<IndexRows>,
    reader: &SnapshotReader,
    scope: Scope,
) -> Result<MutexGuard<'i, IndexRows>, StoreError> {
    let mut rows = index.lock().unwrap_or_else(PoisonError::into_inner);
    let store = reader.store();
    let changes = match rows.seq {
        Some(seq) => store.changes_after(seq)?,
        None => None,
    };
    if let Some(changes) = changes {
        if !changes.instances.is_empty() {
            let mut found = store.rows_of(&changes.instances)?;
            // Parents before their children.
            found.sort_by_key(|row| row.key);
            // Some are reported again until the next record.
            let mut is_changed = false;
            found.into_iter().for_each(|row| is_changed |= rows.put(row, scope));
            if is_changed {
                rows.lists.clear();
            }
        }
        rows.seq = Some(changes.through);
        // Removed instances have no record.
        if scope == Scope::Running || rows.by_key.len() as u64 == count(reader)? {
            return Ok(rows);
        }
    }
    let is_of_request = store.changes_after(u64::MAX)?.is_none();
    let seq = if is_of_request { 0 } else { store.last_seq()? };
    *rows = IndexRows { seq: Some(seq), is_of_request, ..IndexRows::default() };
    let statuses = if scope == Scope::All { Vec::new() } else { vec![Status::Active, Status::Error] };
    let mut found = store.list(&Filter { statuses, ..Filter::default() })?.rows;
    found.sort_by_key(|row| (row.new.created_ms, row.key));
    for row in found {
        rows.put(row, scope);
    }
    Ok(rows)
}

/// Counts all instances.
fn count(reader: &SnapshotReader) -> Result<u64, StoreError> {
    Ok(reader.store().tally(&Filter::default())?.iter().map(|tally| tally.count).sum())
}

impl IndexRows {
    /// Adds an instance, or replaces its row. Returns true if it has changed.
    fn put(&mut self, mut row: InstanceRow, scope: Scope) -> bool {
        let (key, parent) = (row.key, row.new.parent.as_ref().map(|parent| Arc::clone(&parent.id)));
        let own = UsageSum::of(rows::spent(&row));
        if !self.is_of_request {
            (row.head.ledger, row.new.policy) = (None, Arc::default());
        }
        let before = self.by_key.remove(&key);
        let below = before.as_ref().map(|before| before.below).unwrap_or_default();
        let counted = before.as_ref().map(IndexRow::uncounted).unwrap_or_default();
        let is_kept = scope.has(&row);
        let is_changed = before.as_ref().is_none_or(|before| before.row != row || before.own != own);
        let new = IndexRow { row, own, below, title: None };
        let difference = new.uncounted().minus(counted);
        if is_kept {
            self.keys.insert(Arc::clone(&new.row.new.id), key);
            self.by_key.insert(key, new);
        } else {
            self.keys.remove(&new.row.new.id);
        }
        if let Some(parent) = parent {
            self.add(parent, difference);
        }
        is_changed
    }

    /// Adds usage to a parent, and to those above it while they run.
    fn add(&mut self, parent: Arc<str>, difference: UsageSum) {
        let mut above = Some(parent);
        while let Some(id) = above.take().filter(|_| difference != UsageSum::default()) {
            let Some(row) = self.keys.get(&id).and_then(|key| self.by_key.get_mut(key)) else { return };
            row.below = row.below.plus(difference);
            if row.is_running() {
                above = row.row.new.parent.as_ref().map(|parent| Arc::clone(&parent.id));
            }
        }
    }

    /// Returns the instances of a list in an order.
    fn sorted(
        &mut self,
        reader: &SnapshotReader,
        filter: &Filter,
        order: ListOrder,
        corrections: &Corrections,
    ) -> Result<Arc<SortedKeys>, StoreError> {
        let filter = Filter { before: None, limit: 0, ..filter.clone() };
        let Corrections { added, removed, asking } = corrections;
        let is_exact = added.is_empty() && removed.is_empty() && asking.is_empty();
        let known = self.lists.iter().find(|(known, by, _)| *known == filter && *by == order);
        if let Some((_, _, sorted)) = known.filter(|_| is_exact) {
            return Ok(Arc::clone(sorted));
        }
        let is_meant = |row: &InstanceRow| {
            added.contains(&row.key) || (filter.matches(&row.new, &row.head) && !removed.contains(&row.key))
        };
        let keys: Vec<InstanceKey> =
            self.by_key.values().map(|it| &it.row).filter(|row| is_meant(row)).map(|row| row.key).collect();
        if order.key == SortKey::Title {
            self.read_titles(reader, &keys)?;
        }
        let positions = keys
            .iter()
            .filter_map(|key| Some(self.by_key.get(key)?.position(order.key, asking.contains(key))));
        let sorted = Arc::new(SortedKeys::new(positions.collect(), order));
        if is_exact {
            self.lists.truncate(LISTS_MAX - 1);
            self.lists.insert(0, (filter, order, Arc::clone(&sorted)));
        }
        Ok(sorted)
    }

    /// Reads titles that are not known: they are part of the snapshots.
    fn read_titles(&mut self, reader: &SnapshotReader, keys: &[InstanceKey]) -> Result<(), StoreError> {
        let is_missing = |key: &&InstanceKey| self.by_key.get(key).is_some_and(|it| it.title.is_none());
        let missing: Vec<InstanceKey> = keys.iter().filter(is_missing).copied().collect();
        for some in missing.chunks(TITLES_AT_ONCE) {
            let rows: Vec<InstanceRow> =
                some.iter().filter_map(|key| Some(self.by_key.get(key)?.row.clone())).collect();
            // Without a readable snapshot the id is the title.
            let states = reader.row_states(&rows, state).unwrap_or_else(|_| vec![None; rows.len()]);
            for (row, state) in rows.iter().zip(states) {
                let title = state.as_ref().and_then(|state| state.title.as_deref());
                let title = title.unwrap_or(&row.new.id).to_lowercase();
                if let Some(it) = self.by_key.get_mut(&row.key) {
                    it.title = Some(title.into());
                }
            }
        }
        Ok(())
    }
}

impl IndexRow {
    fn position(&self, by: SortKey, is_asking: bool) -> SortPosition {
        let whole = |number: u64| SortValue::Whole(i64::try_from(number).unwrap_or(i64::MAX));
        let value = match by {
            SortKey::Created => SortValue::Whole(self.row.new.created_ms),
            SortKey::Updated => SortValue::Whole(self.row.updated_ms),
            SortKey::Steps => whole(self.row.step),
            SortKey::Cost => self.own.plus(self.below).cost(),
            SortKey::Outcome => SortValue::Text(order::outcome(&self.row, is_asking).into()),
            SortKey::Title => {
                SortValue::Text(self.title.clone().unwrap_or_else(|| Arc::clone(&self.row.new.id)))
            }
        };
        SortPosition { value, key: self.row.key }
    }
}

#[cfg(test)]
mod tests;
