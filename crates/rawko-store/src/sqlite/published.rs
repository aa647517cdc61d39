//! `Published`: state of the writing side that readers of the same process see without waiting for it: the length of the
//! unindexed journal, a version of everything that lists count, and the instances that changed without a record.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::InstanceKey;

/// Unindexed records that reading may pass one by one. More of them are indexed first: one instance reads them up to
/// three times for one request.
const TAIL_LEN_MAX: i64 = 128;

#[derive(Debug, Default)]
pub(super) struct Published {
    tail_len: AtomicI64,
    wants_index: AtomicBool,
    lists: AtomicU64,
    quiet: Mutex<QuietChanges>,
}

/// Instances that are kept in [`QuietChanges`].
const QUIET_MAX: usize = 4_096;

/// Instances whose row changed without a record: no one can find them in the journal.
#[derive(Debug, Default)]
struct QuietChanges {
    /// The last record of the journal when the row was written.
    after: BTreeMap<InstanceKey, u64>,
    /// Changes up to this record are not known any more.
    forgotten: Option<u64>,
}

impl Published {
    /// Called after the commit that wrote the rows, before the next commit. `last_seq`: the last record then.
    pub(super) fn changed_quietly(&self, keys: impl Iterator<Item = InstanceKey>, last_seq: u64) {
        let mut quiet = self.quiet.lock().unwrap_or_else(PoisonError::into_inner);
        quiet.after.extend(keys.map(|key| (key, last_seq)));
        if quiet.after.len() > QUIET_MAX {
            *quiet = QuietChanges { forgotten: Some(last_seq), ..QuietChanges::default() };
        }
    }

    /// Returns the instances that changed without a record since this record; `None` if they are not known any more. Called
    /// after the journal was read: what changed before a record of it is known then.
    pub(super) fn quiet_since(&self, seq: u64) -> Option<Vec<InstanceKey>> {
        let quiet = self.quiet.lock().unwrap_or_else(PoisonError::into_inner);
        if quiet.forgotten.is_some_and(|forgotten| seq <= forgotten) {
            return None;
        }
        Some(quiet.after.iter().filter(|(_, after)| **after >= seq).map(|(key, _)| *key).collect())
    }

    /// Called after every commit, before it is acknowledged.
    pub(super) fn committed(&self, tail_len: i64, changes_lists: bool) {
        self.tail_len.store(tail_len, Ordering::Release);
        if changes_lists {
            self.lists.fetch_add(1, Ordering::Release);
        }
    }

    /// Stops requests for an index that could not be written, until the next commit.
    pub(super) fn index_failed(&self) {
        self.tail_len.store(0, Ordering::Release);
    }

    /// Returns the version of the columns that lists filter by and count. Read before the transaction that counts.
    pub(super) fn lists(&self) -> u64 {
        self.lists.load(Ordering::Acquire)
    }

    pub(super) fn is_long(&self) -> bool {
        self.tail_len.load(Ordering::Acquire) > TAIL_LEN_MAX
    }

    /// Requests an index with the next commit, because the writing side is busy.
    pub(super) fn want_index(&self) {
        self.wants_index.store(true, Ordering::Release);
    }

    /// Returns true if a reader waits for an index of a tail of this length.
    pub(super) fn takes_index(&self, tail_len: i64) -> bool {
        tail_len > TAIL_LEN_MAX && self.wants_index.swap(false, Ordering::AcqRel)
    }
}
