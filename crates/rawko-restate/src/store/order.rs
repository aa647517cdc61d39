//! Orders that Restate does not provide: records over all instances, and pages of instances by age.

use rawko_store::{Filter, InstancePage, InstanceRow, Record};

use crate::layout::StoredRow;

/// Bits for the number of records of one instance within one millisecond that keep their order.
const NUMBER_BITS: u32 = 12;

/// Returns the position of a record among all: its time, then its number. Below 2^53 until the year 2039, so that JSON
/// parsers with floating point numbers keep every digit. Two instances may share a position.
pub(super) fn place(at_ms: i64, number: u64) -> u64 {
    let time = u64::try_from(at_ms).unwrap_or(0) << NUMBER_BITS;
    time | (number & ((1 << NUMBER_BITS) - 1))
}

/// Converts a record of an instance (its `seq` is its number) to one with its position among all.
pub(super) fn placed(record: Record) -> Record {
    Record { seq: place(record.at_ms, record.seq), ..record }
}

/// Returns one page of sorted rows.
pub(super) fn page(rows: Vec<StoredRow>, filter: &Filter) -> InstancePage {
    // The end of the last page, even if that instance no longer matches.
    let ended = filter.before.and_then(|before| rows.iter().position(|row| row.key == before));
    let from = ended.map_or(0, |at| at + 1);
    let matching = rows.into_iter().enumerate().filter(|(_, row)| matches(row, filter));
    let matching: Vec<(usize, StoredRow)> = matching.collect();
    let total = matching.len() as u64;
    let limit = if filter.limit == 0 { usize::MAX } else { filter.limit };
    let mut rest = matching.into_iter().skip_while(|(at, _)| *at < from).map(|(_, row)| row);
    let rows: Vec<InstanceRow> = rest.by_ref().take(limit).map(InstanceRow::from).collect();
    let next = rest.next().and_then(|_| rows.last()).map(|row| row.key);
    InstancePage { rows, next, total }
}

fn matches(row: &StoredRow, filter: &Filter) -> bool {
    (filter.statuses.is_empty() || filter.statuses.contains(&row.head.status))
        && (filter.waits.is_empty() || filter.waits.contains(&row.head.wait))
        && (filter.outcomes.is_empty()
            || row.head.outcome.is_some_and(|outcome| filter.outcomes.contains(&outcome)))
        && filter.shows(&row.new, &row.head)
        && filter.chart.as_deref().is_none_or(|chart| chart == &*row.new.chart_id)
        && !filter.except.iter().any(|chart| **chart == *row.new.chart_id)
        && !(filter.roots_only && row.new.parent.is_some())
        && filter.part.as_deref().is_none_or(|part| has_part(&row.new.id, part))
}

fn has_part(id: &str, part: &str) -> bool {
    id.to_ascii_lowercase().contains(&part.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_time_and_then_number() {
        let now = 1_790_000_000_000;
        let places = [(now, 1), (now, 2), (now, 4_095), (now + 1, 4_096), (now + 1, 4_097), (now + 2, 4_098)];
        let places = places.map(|(at_ms, number)| place(at_ms, number));
        assert!(places.is_sorted(), "{places:?}");
        assert!(places.iter().all(|place| *place < 1 << 53), "{places:?}");
    }
}
