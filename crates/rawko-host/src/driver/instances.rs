//! The instances that are in memory. The others live on disk; one is loaded when something happens to it, and leaves
//! again when many others have been busier.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rawko_store::InstanceKey;
use rustc_hash::FxHashMap;

use super::slot::Slot;

#[derive(Default)]
pub(crate) struct Instances {
    table: Mutex<Table>,
    /// Held while one is loaded: nobody may load what is just being written and evicted.
    loading: Mutex<()>,
}

#[derive(Default)]
struct Table {
    slots: FxHashMap<InstanceKey, Arc<Slot>>,
    keys: FxHashMap<Arc<str>, InstanceKey>,
    /// Those that came to rest once, each once; who is busy when its turn to leave comes goes to the end.
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

    /// The one in memory, or the one that `load` brings.
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

    /// An instance came to rest; those that rest longest leave while there are more than `max`.
    pub(crate) fn rest(&self, slot: &Arc<Slot>, max: usize) {
        let mut table = self.table();
        table.resting.push_back(slot.key);
        // One that is busy goes to the end of the queue; each is looked at once.
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

    /// Out of memory at once, unless something waits there. Tells whether it is out.
    fn evict(table: &mut Table, key: InstanceKey) -> bool {
        let Some(slot) = table.slots.get(&key) else { return true };
        // Locking here while holding the table is safe: nobody asks for the table while holding an instance.
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

    /// It never came to be.
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
