//! `RecentSnapshots`: the last snapshots of large instances. A terminal or a page that follows an agent reads its state after
//! every step; with the snapshot before, only the records since are read, and not the whole conversation.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use rawko_store::content::ListReader;
use rawko_store::{ChartHash, InstanceRow};

use crate::reader::RestoredSnapshot;

/// Snapshots that are kept.
const SNAPSHOTS_MAX: usize = 8;

/// A snapshot, and what reads the records after it.
#[derive(Debug)]
pub(crate) struct RecentSnapshot {
    owner: SnapshotOwner,
    pub(crate) restored: RestoredSnapshot,
    pub(crate) lists: ListReader,
}

/// The identity of an instance. The id alone may be of a pruned instance, and a key may be local to its reader.
#[derive(Debug, PartialEq, Eq)]
struct SnapshotOwner {
    id: Arc<str>,
    created_ms: i64,
    chart: ChartHash,
}

impl SnapshotOwner {
    fn of(row: &InstanceRow) -> Self {
        Self { id: Arc::clone(&row.new.id), created_ms: row.new.created_ms, chart: row.new.chart }
    }
}

impl RecentSnapshot {
    pub(crate) fn of(row: &InstanceRow, restored: RestoredSnapshot) -> Self {
        Self { owner: SnapshotOwner::of(row), restored, lists: ListReader::default() }
    }
}

/// Shared by the clones of a reader.
#[derive(Debug, Default)]
pub(crate) struct RecentSnapshots {
    kept: Mutex<VecDeque<RecentSnapshot>>,
}

impl RecentSnapshots {
    /// Takes the snapshot of an instance out.
    pub(crate) fn take(&self, row: &InstanceRow) -> Option<RecentSnapshot> {
        let owner = SnapshotOwner::of(row);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|recent| recent.owner == owner)?;
        kept.remove(at)
    }

    /// Keeps a snapshot in place of the oldest one.
    pub(crate) fn keep(&self, recent: RecentSnapshot) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|known| known.owner != recent.owner);
        if kept.len() == SNAPSHOTS_MAX {
            kept.pop_front();
        }
        kept.push_back(recent);
    }
}
