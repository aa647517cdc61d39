//! `Published`: what the writing side tells readers of the same process without a lock: the length of the unindexed
//! journal, and a version of everything that lists count.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

/// Unindexed records that reading may pass one by one. More of them are indexed first: one instance reads them up to
/// three times for one request.
const TAIL_LEN_MAX: i64 = 128;

#[derive(Debug, Default)]
pub(super) struct Published {
    tail_len: AtomicI64,
    wants_index: AtomicBool,
    lists: AtomicU64,
}

impl Published {
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
