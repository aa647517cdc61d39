//! A cache of records: they never change, so they are fetched once.

use std::collections::HashMap;

use rawko_store::{InstanceKey, Record, RecordKind};

/// Approximate size limit; when it is exceeded, the whole cache is cleared.
const BYTES_MAX: usize = 64 << 20;

/// The cached beginnings of journals.
#[derive(Default)]
pub(super) struct Journals {
    known: HashMap<InstanceKey, Vec<Record>>,
    bytes: usize,
}

impl Journals {
    /// Returns the cached records of an instance after the first `after`, without a gap.
    pub(super) fn of(&self, key: InstanceKey, after: u64) -> Vec<Record> {
        let known = self.known.get(&key).map_or(&[][..], Vec::as_slice);
        let after = usize::try_from(after).unwrap_or(usize::MAX);
        known.get(after..).unwrap_or_default().to_vec()
    }

    /// Adds the records that follow the first `known`, unless that would leave a gap.
    pub(super) fn extend(&mut self, key: InstanceKey, known: u64, new: &[Record]) {
        if self.bytes > BYTES_MAX {
            *self = Self::default();
        }
        let records = self.known.entry(key).or_default();
        let fits = new.iter().zip(known + 1..).all(|(record, number)| record.seq == number);
        if records.len() as u64 == known && fits {
            self.bytes += new.iter().map(size).sum::<usize>();
            records.extend_from_slice(new);
        }
    }
}

fn size(record: &Record) -> usize {
    record.event.len() + record.delta.len() + record.effects.len() + size_of::<Record>()
}

/// Returns the records after one step up to another, without those of failed steps.
pub(super) fn between(records: Vec<Record>, after: u64, at: u64) -> Vec<Record> {
    let wanted =
        |record: &Record| record.kind != RecordKind::Failed && record.step > after && record.step <= at;
    let placed = |record: Record| Record { seq: super::order::place(record.at_ms, record.seq), ..record };
    records.into_iter().filter(wanted).map(placed).collect()
}
