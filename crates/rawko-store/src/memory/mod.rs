//! `MemoryStore`: a store without persistence. For tests and throwaway charts; separate from SQLite so that a host can
//! run without a file.

mod family;
mod state;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::StoreError;
use crate::store::{
    ChangedInstances, Filter, HighestNumbers, InstancePage, SnapshotBase, Store, StoreReport,
};
use crate::transfer::InstanceFamily;
use crate::{
    AuditLine, Blob, ChartHash, ChartRow, Commit, Inbound, InstanceKey, InstanceRow, OpenEffect, Record,
};
use state::MemoryState;

/// The name of a memory store in errors and reports.
const PLACE: &str = "memory";

/// Keeps everything in maps behind one lock.
#[derive(Default)]
pub struct MemoryStore {
    state: Arc<Mutex<MemoryState>>,
    /// The owner's number when this handle was opened; a later one fences it.
    epoch: u64,
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the same store for another host and fences this handle, as opening a file a second time does: reads still
    /// work, writes are refused with [`StoreError::Fenced`].
    #[must_use]
    pub fn take_over(&self) -> MemoryStore {
        let mut state = self.state();
        state.epoch += 1;
        MemoryStore { state: Arc::clone(&self.state), epoch: state.epoch }
    }

    /// The state, for a write: only the last host that opened the store may.
    fn owned(&self) -> Result<MutexGuard<'_, MemoryState>, StoreError> {
        let state = self.state();
        if state.epoch == self.epoch {
            return Ok(state);
        }
        Err(StoreError::Fenced { place: PLACE.to_owned() })
    }

    /// A commit is checked whole before any of it is applied, so a poisoned lock still guards a consistent state.
    fn state(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn commit(&self, commits: &[Commit]) -> Result<(), StoreError> {
        let mut state = self.owned()?;
        state.check(commits)?;
        commits.iter().for_each(|commit| state.apply(commit));
        Ok(())
    }

    fn put_chart(&self, chart: &ChartRow) -> Result<(), StoreError> {
        self.owned()?.put_chart(chart);
        Ok(())
    }

    fn chart(&self, hash: &ChartHash) -> Result<Option<ChartRow>, StoreError> {
        Ok(self.state().charts.iter().find(|chart| &chart.hash == hash).cloned())
    }

    fn charts(&self) -> Result<Vec<ChartRow>, StoreError> {
        Ok(self.state().charts_in_order())
    }

    fn find(&self, id: &str) -> Result<Option<InstanceRow>, StoreError> {
        let state = self.state();
        Ok(state.ids.get(id).and_then(|key| state.row(*key)))
    }

    fn instance(&self, key: InstanceKey) -> Result<Option<InstanceRow>, StoreError> {
        Ok(self.state().row(key))
    }

    fn list(&self, filter: &Filter) -> Result<InstancePage, StoreError> {
        Ok(self.state().list(filter))
    }

    fn changes_after(&self, after: u64) -> Result<Option<ChangedInstances>, StoreError> {
        Ok(Some(self.state().changes_after(after)))
    }

    fn children(&self, id: &str) -> Result<Vec<InstanceRow>, StoreError> {
        Ok(self.state().children(id))
    }

    fn base(&self, key: InstanceKey, at: Option<u64>) -> Result<Option<SnapshotBase>, StoreError> {
        Ok(self.state().base(key, at))
    }

    fn records(&self, key: InstanceKey, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        Ok(self.state().records(key, after, limit))
    }

    fn tail(&self, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        let state = self.state();
        let from = state.journal.partition_point(|record| record.seq <= after);
        Ok(state.journal[from..].iter().take(limit).cloned().collect())
    }

    fn last_seq(&self) -> Result<u64, StoreError> {
        Ok(self.state().journal.len() as u64)
    }

    fn open_effects(&self, key: Option<InstanceKey>) -> Result<Vec<OpenEffect>, StoreError> {
        let state = self.state();
        let wanted = |effect: &&OpenEffect| key.is_none_or(|key| effect.instance == key);
        Ok(state.effects.values().filter(wanted).cloned().collect())
    }

    fn inbound(&self, key: Option<InstanceKey>) -> Result<Vec<Inbound>, StoreError> {
        let state = self.state();
        let wanted = |event: &&Inbound| key.is_none_or(|key| event.to == key);
        Ok(state.inbound.values().filter(wanted).cloned().collect())
    }

    fn timers(&self) -> Result<Vec<(InstanceKey, i64)>, StoreError> {
        Ok(self.state().timers())
    }

    fn delivered(&self, key: InstanceKey, delivery: &str) -> Result<Option<u64>, StoreError> {
        let state = self.state();
        Ok(state.instances.get(&key).and_then(|kept| kept.deliveries.get(delivery).copied()))
    }

    fn blob(&self, hash: &[u8; 16]) -> Result<Option<Blob>, StoreError> {
        Ok(self.state().blobs.get(hash).map(|body| Blob { hash: *hash, body: body.clone() }))
    }

    fn audit(&self, instance: Option<&str>, limit: usize) -> Result<Vec<AuditLine>, StoreError> {
        Ok(self.state().audit(instance, limit))
    }

    fn audit_after(&self, seen: usize) -> Result<Vec<AuditLine>, StoreError> {
        Ok(self.state().audit_after(seen))
    }

    fn family(&self, id: &str) -> Result<Option<InstanceFamily>, StoreError> {
        Ok(self.state().family(id))
    }

    fn marks(&self) -> Result<HighestNumbers, StoreError> {
        Ok(self.state().marks)
    }

    fn probe(&self) -> Result<(), StoreError> {
        self.owned().map(drop)
    }

    fn report(&self) -> Result<StoreReport, StoreError> {
        Ok(self.state().report())
    }
}
