//! The instances in memory. All others stay on disk: an instance is loaded when it gets an input and evicted when many
//! others have been active more recently.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rawko_store::InstanceKey;
use rustc_hash::FxHashMap;

use super::slot::Slot;

/// Number of instances that stay in memory regardless of their size.
const INSTANCES_MIN: usize = 1_024;
/// Estimated memory up to which more of them stay.
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// The instances that may stay in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryLimit {
    /// Up to this number, any.
    instances: usize,
    /// Above that number, as long as all of them together take no more.
    bytes: usize,
}

impl MemoryLimit {
    /// At most this number of instances, of any size; `None`: as many as fit into the default memory.
    pub(crate) fn new(instances: Option<usize>) -> Self {
        match instances {
            Some(instances) => MemoryLimit { instances: instances.max(1), bytes: 0 },
            None => MemoryLimit { instances: INSTANCES_MIN, bytes: BYTES_MAX },
        }
    }
}

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
    /// The estimated memory of all of them.
    bytes: usize,
}

impl Table {
    fn is_over(&self, limit: MemoryLimit) -> bool {
        self.slots.len() > limit.instances && self.bytes > limit.bytes
    }

    fn add(&mut self, slot: &Arc<Slot>) {
        self.keys.insert(Arc::clone(&slot.id), slot.key);
        self.bytes += slot.weight();
        if let Some(replaced) = self.slots.insert(slot.key, Arc::clone(slot)) {
            self.bytes = self.bytes.saturating_sub(replaced.weight());
        }
    }

    fn remove(&mut self, key: InstanceKey) {
        if let Some(slot) = self.slots.remove(&key) {
            self.keys.remove(&slot.id);
            self.bytes = self.bytes.saturating_sub(slot.weight());
        }
    }
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
        self.table().add(slot);
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

    /// Updates the estimated memory of an instance that grew or shrank. Must not be called with the instance locked.
    pub(crate) fn weigh(&self, slot: &Arc<Slot>, bytes: usize) {
        let mut table = self.table();
        if table.slots.get(&slot.key).is_some_and(|known| Arc::ptr_eq(known, slot)) {
            table.bytes = (table.bytes + bytes).saturating_sub(slot.weight());
            slot.set_weight(bytes);
        }
    }

    /// Queues an idle instance for eviction and evicts the longest idle ones while the limit is exceeded.
    pub(crate) fn rest(&self, slot: &Arc<Slot>, limit: MemoryLimit) {
        let mut table = self.table();
        table.resting.push_back(slot.key);
        // A busy instance moves to the end of the queue; each is checked once.
        for _ in 0..table.resting.len() {
            if !table.is_over(limit) {
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
        table.remove(key);
        true
    }

    /// Removes an instance whose first commit failed.
    pub(crate) fn forget(&self, key: InstanceKey) {
        self.table().remove(key);
    }

    pub(crate) fn len(&self) -> usize {
        self.table().slots.len()
    }
}
