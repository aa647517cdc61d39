//! `Feed`: new records of all journals, in the order in which they were found. A record becomes visible slightly after
//! its timestamp, so the order of timestamps is not the order of arrival; a follower must not miss any.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use rawko_store::{InstanceKey, Record, StoreError};

use super::{RestateStore, order};
use crate::layout::StoredRow;

/// Maximum number of buffered records. A follower that lags further behind is served from the journals.
const NEWS_MAX: usize = 20_000;

pub(super) struct Feed {
    /// Number of processed records per instance.
    seen: HashMap<InstanceKey, u64>,
    /// Everything up to this position is in the journals' own order.
    begun: u64,
    last: u64,
    /// New records, with their positions in the order of arrival.
    news: VecDeque<Record>,
}

impl Feed {
    /// Starts at the current end: existing records are skipped.
    pub(super) fn new(rows: &[StoredRow]) -> Feed {
        let last = rows.iter().map(|row| order::place(row.updated_ms, row.records)).max().unwrap_or(0);
        let seen = rows.iter().map(|row| (row.key, row.records)).collect();
        Feed { seen, begun: last, last, news: VecDeque::new() }
    }

    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    pub(super) fn last(&self) -> u64 {
        self.last
    }

    pub(super) fn after(&self, after: u64) -> impl Iterator<Item = &Record> {
        let from = self.news.partition_point(|record| record.seq <= after);
        self.news.range(from..)
    }

    /// Returns the instances with unprocessed records, and the number of processed ones.
    fn behind(&self, rows: &[StoredRow]) -> Vec<(Arc<str>, u64)> {
        let seen = |row: &StoredRow| self.seen.get(&row.key).copied().unwrap_or(0);
        let behind = rows.iter().filter(|row| row.records > seen(row));
        behind.map(|row| (Arc::clone(&row.new.id), seen(row))).collect()
    }

    /// Adds records of any instances, each with the length of its instance's id; known ones are ignored. A child's id
    /// is longer than its parent's, so within one millisecond the parent comes first.
    fn add(&mut self, mut found: Vec<(usize, Record)>) {
        found.sort_by_key(|(length, record)| (record.at_ms, *length, record.instance, record.seq));
        for (_, record) in found {
            let seen = self.seen.entry(record.instance).or_default();
            if record.seq != *seen + 1 {
                continue;
            }
            *seen = record.seq;
            self.last = order::place(record.at_ms, record.seq).max(self.last + 1);
            self.news.push_back(Record { seq: self.last, ..record });
        }
        while self.news.len() > NEWS_MAX {
            self.begun = self.news.pop_front().map_or(self.begun, |record| record.seq);
        }
    }
}

impl RestateStore {
    /// Adds the records written since the last call.
    pub(super) fn look_for_news(&self) -> Result<(), StoreError> {
        let rows = self.rows()?;
        let behind = match &mut self.memory().feed {
            Some(feed) => feed.behind(&rows),
            none => {
                *none = Some(Feed::new(&rows));
                Vec::new()
            }
        };
        let mut found = Vec::new();
        for (id, seen) in behind {
            found.extend(self.journal(&id, seen)?.into_iter().map(|record| (id.len(), record)));
        }
        if let Some(feed) = &mut self.memory().feed {
            feed.add(found);
        }
        Ok(())
    }

    /// Returns the records between two positions, from the journals.
    pub(super) fn history(&self, after: u64, until: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        let mut found = Vec::new();
        for row in self.rows()? {
            if order::place(row.updated_ms, row.records) > after {
                let records = self.journal(&row.new.id, 0)?.into_iter().map(order::placed);
                found.extend(records.filter(|record| record.seq > after && record.seq <= until));
            }
        }
        found.sort_by_key(|record| (record.seq, record.instance));
        // Instances may share a position: a page ends between positions, never within one.
        if let Some(last) = found.get(limit.saturating_sub(1)).map(|record| record.seq) {
            found.truncate(found.partition_point(|record| record.seq <= last));
        }
        Ok(found)
    }
}
