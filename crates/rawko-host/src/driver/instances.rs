//! The instances in memory. All others stay on disk: an instance is loaded when it gets an input and evicted when many
//! others have been active more recently.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rawko_store::InstanceKey;
use rustc_hash::FxHashMap;

use super::slot::Slot;

#[derive(Default)]
pub(crate) struct Instances {
    table: Mutex<Table>,
    /// Held while an instance is loaded, so that an instance that is being written and evicted is not loaded again.
    loading: Mutex<()>,
}

#[derive(Default)]
struct Table {
    slots: FxHashMap<InstanceKey, Arc<Slot>>,
    keys: FxHashMap<Arc<str>, InstanceKey>,
    /// Idle instances in order of eviction, each at most once. One that is busy at its turn moves to the end.
    resting: VecDeque<InstanceKey>,
}

impl Instances {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, key: InstanceKey) -> Option<Arc<Slot>> {
        self.table().slots.get(&key).cloned()
    }

    pub(crate) fn key(&self, id: &str) -> Option<InstanceKey> {
        self.table().keys.get(id).copied()
    }

    pub(crate) fn enter(&self, slot: &Arc<Slot>) {
        let mut table = self.table();
        table.keys.insert(Arc::clone(&slot.id), slot.key);
        table.slots.insert(slot.key, Arc::clone(slot));
    }

    /// Returns the instance in memory, or loads it with `load`.
    pub(crate) fn get_or<E>(
        &self,
        key: InstanceKey,
        load: impl FnOnce() -> Result<Arc<Slot>, E>,
    ) -> Result<Arc<Slot>, E> {
        if let Some(slot) = self.get(key) {
            return Ok(slot);
        }
        let _one_at_a_time = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = self.get(key) {
            return Ok(slot);
        }
        let slot = load()?;
        self.enter(&slot);
        Ok(slot)
    }

    /// Queues an idle instance for eviction and evicts the longest idle ones while there are more than `max`.
    pub(crate) fn rest(&self, slot: &Arc<Slot>, max: usize) {
        let mut table = self.table();
        table.resting.push_back(slot.key);
        // A busy instance moves to the end of the queue; each is checked once.
        for _ in 0..table.resting.len() {
            if table.slots.len() <= max {
                break;
            }
            let Some(key) = table.resting.pop_front() else { break };
            if !Self::evict(&mut table, key) {
                table.resting.push_back(key);
            }
        }
    }

    /// Evicts an instance unless it has work waiting. Returns true if it is no longer in memory.
    fn evict(table: &mut Table, key: InstanceKey) -> bool {
        let Some(slot) = table.slots.get(&key) else { return true };
        // Locking an instance while holding the table is safe: the opposite order never occurs.
        let mut live = slot.lock();
        if !live.is_idle() {
            return false;
        }
        live.evicted = true;
        drop(live);
        if let Some(slot) = table.slots.remove(&key) {
            table.keys.remove(&slot.id);
        }
        true
    }

    /// Removes an instance whose first commit failed.
    pub(crate) fn forget(&self, key: InstanceKey) {
        let mut table = self.table();
        if let Some(slot) = table.slots.remove(&key) {
            table.keys.remove(&slot.id);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.table().slots.len()
    }
}
