//! What one step changes in its shard of the index, as a pure function. A step that arrives again changes nothing, and steps
//! that never arrived are added by the next one.

use crate::layout::index::{
    FeedEntry, IndexedStep, PLACES_PER_PAGE, ShardHead, ShardRow, after_time, position,
};
use crate::layout::{StoredRow, instance_key};

/// Number of entries that a shard keeps. A follower that is further behind reads the journals instead.
const ENTRIES_MAX: u64 = 16_384;
/// Number of entries that are removed at most with one step, so that none takes long.
const REMOVED_AT_ONCE: u64 = 64;

/// The new state of a shard.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ShardChange {
    pub(super) head: ShardHead,
    pub(super) row: ShardRow,
    /// The number of the first entry, and the entries.
    pub(super) first: u64,
    pub(super) entries: Vec<FeedEntry>,
    /// Full pages of positions, and their numbers.
    pub(super) pages: Vec<(u64, Vec<u64>)>,
    /// Numbers of the entries to remove.
    pub(super) removed: std::ops::Range<u64>,
    pub(super) is_new: bool,
}

/// Returns the change by a step, or `None` if it is in the index already.
pub(super) fn indexed(
    shard: u64,
    mut head: ShardHead,
    known: Option<ShardRow>,
    step: IndexedStep,
) -> Option<ShardChange> {
    let IndexedStep { row, known: before } = step;
    if known.as_ref().is_some_and(|known| known.row.records > row.records || known.row == row) {
        return None;
    }
    debug_assert_eq!(row.key, instance_key(&row.new.id));
    let is_new = known.is_none();
    // Once the index is built, an unknown instance began after that, on an older worker: all of its records are new.
    let before = if head.is_built { 0 } else { before };
    head.rows += u64::from(is_new);
    head.roots += u64::from(is_new && row.new.parent.is_none());
    let mut of = known.unwrap_or_else(|| ShardRow { row: row.clone(), before, pages: 0, places: Vec::new() });
    let listed = if is_new { before } else { of.row.records };
    let mut pages = Vec::new();
    let first = head.entries + 1;
    let mut entry = |number: u64| {
        head.last = position(shard, head.last, row.updated_ms);
        head.entries += 1;
        FeedEntry { at: head.last, id: row.new.id.clone(), number }
    };
    let mut entries: Vec<FeedEntry> = (listed + 1..=row.records).map(&mut entry).collect();
    for FeedEntry { at, .. } in &entries {
        of.places.push(*at);
        if of.places.len() == PLACES_PER_PAGE {
            pages.push((of.pages, std::mem::take(&mut of.places)));
            of.pages += 1;
        }
    }
    if entries.is_empty() {
        entries.push(entry(0));
    }
    if is_new && before > 0 {
        head.old_until = head.old_until.max(head.last).max(after_time(row.updated_ms));
    }
    of.row = row;
    let from = head.removed + 1;
    head.removed =
        head.entries.saturating_sub(ENTRIES_MAX).clamp(head.removed, head.removed + REMOVED_AT_ONCE);
    let removed = from..head.removed + 1;
    Some(ShardChange { head, row: of, first, entries, pages, removed, is_new })
}

/// Returns the change by a row from a scan of all instances, or `None` if the index has its records. Rows of the same number of
/// records may be older than the known one.
pub(super) fn scanned(
    shard: u64,
    head: ShardHead,
    known: Option<ShardRow>,
    row: StoredRow,
) -> Option<ShardChange> {
    if known.as_ref().is_some_and(|known| known.row.records >= row.records) {
        return None;
    }
    indexed(shard, head, known, IndexedStep { known: row.records, row })
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
            let Some(change) = indexed(1, self.head.clone(), self.row.clone(), step) else { return false };
            assert_eq!(change.first, self.feed.len() as u64 + 1);
            self.feed.extend(change.entries.iter().map(|entry| (entry.number, entry.at)));
            self.pages.extend(change.pages.into_iter().flat_map(|(_, page)| page));
            (self.head, self.row) = (change.head, Some(change.row));
            true
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
        let scan = |kept: &ShardInMemory, records, at_ms| {
            let row = step("a", 0, records, at_ms).row;
            scanned(1, kept.head.clone(), kept.row.clone(), row)
        };
        assert_eq!(scan(&kept, 2, 0), None, "of the same step, but read before");
        assert_eq!(scan(&kept, 1, 0), None);
        let change = scan(&kept, 4, 3).unwrap();
        let numbers: Vec<u64> = change.entries.iter().map(|entry| entry.number).collect();
        assert_eq!((numbers, change.row.row.records), (vec![3, 4], 4));
    }

    #[test]
    fn old_entries_are_removed_and_none_twice() {
        let mut head = ShardHead { entries: ENTRIES_MAX + 100, ..ShardHead::default() };
        let mut removed = 0;
        for id in ["a", "b", "c"] {
            let change = indexed(1, head, None, step(id, 0, 1, 1)).unwrap();
            assert_eq!(change.removed.start, removed + 1);
            removed = change.removed.end - 1;
            head = change.head;
        }
        assert_eq!((removed, head.removed), (103, 103));
    }
}
