//! Positions of records from before the index.

use rawko_store::Record;

/// Bits for the number of records of one instance within one millisecond that keep their order.
const NUMBER_BITS: u32 = 12;

/// Returns the position of a record that the index does not number: its time, then its number. Two instances may share one.
pub(super) fn place(at_ms: i64, number: u64) -> u64 {
    let time = u64::try_from(at_ms).unwrap_or(0) << NUMBER_BITS;
    time | (number & ((1 << NUMBER_BITS) - 1))
}

/// Replaces the numbers of an instance's records by their positions: `before` ones are from before the index, and `places` are
/// the positions of those after them. Records that the index does not have yet come after the others.
pub(super) fn placed(records: Vec<Record>, before: u64, places: &[u64]) -> Vec<Record> {
    let mut last = 0;
    let place_of = |mut record: Record| {
        let number = record.seq;
        let known = number.checked_sub(before + 1).and_then(|at| places.get(usize::try_from(at).ok()?));
        last = known.copied().unwrap_or_else(|| place(record.at_ms, number)).max(last + 1);
        record.seq = last;
        record
    };
    records.into_iter().map(place_of).collect()
}

#[cfg(test)]
mod tests {
    use rawko_store::{InstanceKey, RecordKind};

    use super::*;

    #[test]
    fn places_follow_time_and_then_number() {
        let now = 1_790_000_000_000;
        let places = [(now, 1), (now, 2), (now, 4_095), (now + 1, 4_096), (now + 1, 4_097), (now + 2, 4_098)];
        let places = places.map(|(at_ms, number)| place(at_ms, number));
        assert!(places.is_sorted(), "{places:?}");
        assert!(places.iter().all(|place| *place < 1 << 53), "{places:?}");
    }

    #[test]
    fn records_before_and_after_the_index_keep_their_order() {
        let record = |seq: u64| Record {
            seq,
            instance: InstanceKey(1),
            step: seq,
            at_ms: 2,
            kind: RecordKind::Stepped,
            event: String::new(),
            delta: String::new(),
            effects: String::new(),
        };
        let at = placed((1..=5).map(record).collect(), 2, &[9_000, 9_016]);
        let at: Vec<u64> = at.into_iter().map(|record| record.seq).collect();
        assert_eq!(at, [8_193, 8_194, 9_000, 9_016, 9_017]);
    }
}
