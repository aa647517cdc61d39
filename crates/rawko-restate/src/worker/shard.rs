//! What steps change in a shard of the index, without IO. A step that arrives again changes nothing, and steps that never
//! arrived are added by the next one of their instance.

use std::collections::HashMap;
use std::sync::Arc;

use crate::layout::index::{
    ENTRIES_PER_PAGE, FeedEntry, IndexedStep, PLACES_PER_PAGE, ShardHead, ShardRow, after_time, position,
};
use crate::layout::{StoredRow, instance_key};

/// Number of entries that a shard keeps. A follower that is further behind reads the journals instead.
const ENTRIES_MAX: u64 = 65_536;
/// Number of pages that are removed at most with one request, so that none takes long.
const REMOVED_AT_ONCE: u64 = 4;

/// The state of a shard that steps change, and the changes so far.
#[derive(Debug, Default)]
pub(super) struct ShardChange {
    pub(super) head: ShardHead,
    /// The rows that are known, changed or not.
    pub(super) rows: HashMap<Arc<str>, ShardRow>,
    /// Ids of the rows to write.
    pub(super) changed: Vec<Arc<str>>,
    /// Ids of the new instances.
    pub(super) new: Vec<Arc<str>>,
    /// Full pages of positions, by instance and number.
    pub(super) places: Vec<(Arc<str>, u64, Vec<u64>)>,
    /// Full pages of entries, and their numbers.
    pub(super) pages: Vec<(u64, Vec<FeedEntry>)>,
    /// Numbers of the pages of entries to remove.
    pub(super) removed: std::ops::Range<u64>,
}

impl ShardChange {
    pub(super) fn new(head: ShardHead, rows: impl IntoIterator<Item = ShardRow>) -> Self {
        let rows = rows.into_iter().map(|row| (Arc::clone(&row.row.new.id), row)).collect();
        ShardChange { head, rows, ..ShardChange::default() }
    }

    /// Adds a step. Returns false if it is in the index already.
    pub(super) fn add(&mut self, shard: u64, step: IndexedStep) -> bool {
        let IndexedStep { row, known: before } = step;
        let id = Arc::clone(&row.new.id);
        let known = self.rows.remove(&id);
        if let Some(known) = known.as_ref().filter(|known| !is_newer(&row, &known.row)) {
            self.rows.insert(id, known.clone());
            return false;
        }
        debug_assert_eq!(row.key, instance_key(&row.new.id));
        let (is_new, head) = (known.is_none(), &mut self.head);
        // Once the index is built, an unknown instance began after that: all of its records are new.
        let before = if head.is_built { 0 } else { before };
        head.rows += u64::from(is_new);
        head.roots += u64::from(is_new && row.new.parent.is_none());
        let mut of =
            known.unwrap_or_else(|| ShardRow { row: row.clone(), before, pages: 0, places: Vec::new() });
        let listed = if is_new { before } else { of.row.records };
        for number in listed + 1..=row.records {
            of.places.push(self.entry(shard, &row, number));
            if of.places.len() == PLACES_PER_PAGE {
                self.places.push((Arc::clone(&id), of.pages, std::mem::take(&mut of.places)));
                of.pages += 1;
            }
        }
        if listed >= row.records {
            self.entry(shard, &row, 0);
        }
        if is_new {
            self.new.push(Arc::clone(&id));
            if before > 0 {
                let head = &mut self.head;
                head.old_until = head.old_until.max(head.last).max(after_time(row.updated_ms));
            }
        }
        of.row = row;
        if !self.changed.contains(&id) {
            self.changed.push(Arc::clone(&id));
        }
        self.rows.insert(id, of);
        true
    }

    /// Adds a row from a scan of all instances, unless the index has its records. Rows of the same number of records may be
    /// older than the known one.
    pub(super) fn add_scanned(&mut self, shard: u64, row: StoredRow) -> bool {
        let known = self.rows.get(&row.new.id);
        let is_known = known.is_some_and(|known| known.row.records >= row.records);
        !is_known && self.add(shard, IndexedStep { known: row.records, row })
    }

    /// Adds an entry and returns its position.
    fn entry(&mut self, shard: u64, row: &StoredRow, number: u64) -> u64 {
        let head = &mut self.head;
        head.last = position(shard, head.last, row.updated_ms);
        head.entries += 1;
        head.tail.push(FeedEntry { at: head.last, id: Arc::clone(&row.new.id), number });
        if head.entries.is_multiple_of(ENTRIES_PER_PAGE) {
            self.pages.push((head.entries / ENTRIES_PER_PAGE - 1, std::mem::take(&mut head.tail)));
        }
        head.last
    }

    /// Removes the oldest entries.
    pub(super) fn trim(&mut self) {
        let from = self.head.removed / ENTRIES_PER_PAGE;
        let until = self.head.entries.saturating_sub(ENTRIES_MAX) / ENTRIES_PER_PAGE;
        self.removed = from..until.clamp(from, from + REMOVED_AT_ONCE);
        self.head.removed = self.removed.end * ENTRIES_PER_PAGE;
    }
}

/// Returns true if a row is from a later step than the known one, or of the same number of records and not known to be older.
fn is_newer(row: &StoredRow, known: &StoredRow) -> bool {
    let age = |row: &StoredRow| (row.records, row.step, row.audit, row.updated_ms);
    age(row) >= age(known) && row != known
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use rawko_store::{Head, NewInstance};

    use super::*;

    fn step(id: &str, known: u64, records: u64, at_ms: i64) -> IndexedStep {
        let new = NewInstance {
            id: id.into(),
            chart: [7; 16],
            chart_id: "order".into(),
            version: "1.0.0".into(),
            parent: None,
            origin: None,
            created_ms: 5,
            policy: "".into(),
        };
        let (head, key) = (Head::default(), instance_key(id));
        let row =
            StoredRow { updated_ms: at_ms, key, new, head, step: records, records, audit: 0, to_itself: 0 };
        IndexedStep { row, known }
    }

    /// A shard in memory.
    #[derive(Default)]
    struct ShardInMemory {
        head: ShardHead,
        row: Option<ShardRow>,
        feed: Vec<(u64, u64)>,
        pages: Vec<u64>,
    }

    impl ShardInMemory {
        fn take(&mut self, step: IndexedStep) -> bool {
            self.change(|change| change.add(1, step))
        }

        fn change(&mut self, add: impl FnOnce(&mut ShardChange) -> bool) -> bool {
            let mut change = ShardChange::new(self.head.clone(), self.row.clone());
            let is_added = add(&mut change);
            assert_eq!(is_added, change.changed.len() == 1);
            for (number, page) in &change.pages {
                assert_eq!((page[0].at > 0, page.len() as u64), (true, ENTRIES_PER_PAGE), "{number}");
            }
            let full = change.pages.iter().flat_map(|(_, page)| page.iter());
            let all = full.chain(&change.head.tail).map(|entry| (entry.number, entry.at));
            let kept = self.feed.len() - self.head.tail.len();
            self.feed.truncate(kept);
            self.feed.extend(all);
            self.pages.extend(change.places.into_iter().flat_map(|(_, _, page)| page));
            let id = change.changed.first().or(self.row.as_ref().map(|row| &row.row.new.id)).cloned();
            self.row = id.and_then(|id| change.rows.remove(&id));
            self.head = change.head;
            assert_eq!(self.head.entries, self.feed.len() as u64);
            is_added
        }
    }

    #[test]
    fn a_step_is_listed_once_and_one_that_was_lost_with_the_next() {
        let mut kept = ShardInMemory::default();
        assert!(kept.take(step("a", 0, 1, 1)));
        assert!(!kept.take(step("a", 0, 1, 1)), "sent again");
        assert!(kept.take(step("a", 3, 4, 2)), "two sends were lost");
        assert!(!kept.take(step("a", 1, 2, 2)), "late");
        let numbers: Vec<u64> = kept.feed.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 2, 3, 4]);
        assert!(kept.feed.is_sorted_by(|one, other| one.1 < other.1), "{:?}", kept.feed);
        assert_eq!((kept.head.rows, kept.head.entries), (1, 4));
    }

    #[test]
    fn later_entries_are_after_the_seal() {
        let mut kept = ShardInMemory::default();
        kept.take(step("a", 0, 1, 1));
        kept.head.last = 1 << 50;
        kept.take(step("a", 1, 2, 2));
        assert!(kept.feed[1].1 > 1 << 50);
    }

    #[test]
    fn every_record_keeps_its_position() {
        let mut kept = ShardInMemory::default();
        kept.take(step("a", 0, 40, 9));
        for number in 41..=50 {
            kept.take(step("a", number - 1, number, 9));
        }
        kept.pages.extend(kept.row.as_ref().unwrap().places.clone());
        assert_eq!(kept.pages, kept.feed.iter().map(|(_, at)| *at).collect::<Vec<_>>());
        assert_eq!(kept.row.unwrap().pages, 3);
    }

    #[test]
    fn an_instance_from_before_the_index_is_listed_without_its_records() {
        let mut kept = ShardInMemory::default();
        kept.take(step("a", 7, 7, 1));
        kept.take(step("a", 7, 8, 2));
        let numbers: Vec<u64> = kept.feed.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [0, 8]);
        assert_eq!(kept.row.unwrap().before, 7);
    }

    #[test]
    fn positions_of_records_from_before_the_index_are_known() {
        let mut kept = ShardInMemory::default();
        kept.take(step("a", 0, 1, 9));
        assert_eq!(kept.head.old_until, 0, "all of its records are in the index");
        kept.row = None;
        kept.take(step("b", 7, 7, 12));
        let until = kept.head.old_until;
        assert!(until >= kept.head.last && until > (12 << 12) + 7, "{until}");
        kept.head.is_built = true;
        kept.row = None;
        kept.take(step("c", 3, 4, 99));
        assert_eq!(kept.head.old_until, until);
    }

    #[test]
    fn an_instance_that_an_older_worker_began_after_the_build_is_listed_with_all_records() {
        let mut kept = ShardInMemory::default();
        kept.head.is_built = true;
        kept.take(step("a", 3, 4, 1));
        let numbers: Vec<u64> = kept.feed.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 2, 3, 4]);
        assert_eq!(kept.row.unwrap().before, 0);
    }

    #[test]
    fn a_scan_adds_the_steps_that_older_workers_took() {
        let mut kept = ShardInMemory::default();
        kept.take(step("a", 0, 2, 1));
        kept.head.is_built = true;
        let mut scan =
            |records, at_ms| kept.change(|change| change.add_scanned(1, step("a", 0, records, at_ms).row));
        assert!(!scan(2, 0), "of the same step, but read before");
        assert!(!scan(1, 0));
        assert!(scan(4, 3));
        let numbers: Vec<u64> = kept.feed.iter().map(|(number, _)| *number).collect();
        assert_eq!((numbers, kept.row.unwrap().row.records), (vec![1, 2, 3, 4], 4));
    }

    #[test]
    fn a_row_without_records_does_not_replace_a_later_one() {
        let mut kept = ShardInMemory::default();
        kept.take(step("a", 0, 2, 5));
        let mut later = step("a", 2, 2, 5);
        later.row.audit = 3;
        assert!(kept.take(later.clone()));
        assert!(!kept.take(step("a", 1, 2, 5)), "sent by another worker before");
        assert_eq!(kept.row.unwrap().row, later.row);
    }

    #[test]
    fn steps_of_several_instances_are_one_change() {
        let mut change = ShardChange::new(ShardHead::default(), []);
        for (id, known, records) in [("a", 0, 1), ("b", 0, 30), ("a", 1, 3), ("c", 0, 60), ("b", 0, 30)] {
            change.add(1, step(id, known, records, 7));
        }
        let ids = |ids: &[Arc<str>]| ids.join(" ");
        assert_eq!((ids(&change.new), ids(&change.changed)), ("a b c".to_owned(), "a b c".to_owned()));
        assert_eq!((change.head.entries, change.head.rows, change.head.tail.len()), (93, 3, 29));
        assert_eq!(change.pages.len(), 2);
        let full = change.pages.iter().flat_map(|(_, page)| page.iter());
        let all: Vec<&FeedEntry> = full.chain(&change.head.tail).collect();
        assert!(all.is_sorted_by(|one, other| one.at < other.at));
    }

    #[test]
    fn old_entries_are_removed_in_pages_and_none_twice() {
        let entries = ENTRIES_MAX + 6 * ENTRIES_PER_PAGE + 5;
        let mut change = ShardChange::new(ShardHead { entries, ..ShardHead::default() }, []);
        change.trim();
        assert_eq!((change.removed.clone(), change.head.removed), (0..4, 4 * ENTRIES_PER_PAGE));
        change.trim();
        assert_eq!((change.removed.clone(), change.head.removed), (4..6, 6 * ENTRIES_PER_PAGE));
        change.trim();
        assert_eq!(change.removed, 6..6);
    }
}
