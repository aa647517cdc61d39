//! The instances that are in memory. The others live on disk; one is loaded when something happens to it, and leaves
//! again when many others have been busier.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rawko_store::InstanceKey;
use rustc_hash::FxHashMap;

use crate::instance::Slot;

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
    /// Those that came to rest, the longest-resting first; some may have moved since.
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
        while table.slots.len() > max
            && let Some(key) = table.resting.pop_front()
        {
            Self::evict(&mut table, key);
        }
        // Instances that rest often stand in the queue often.
        if table.resting.len() > 4 * max.max(64) {
            let Table { slots, resting, .. } = &mut *table;
            let mut seen = rustc_hash::FxHashSet::default();
            resting.retain(|key| slots.contains_key(key) && seen.insert(*key));
        }
    }

    /// Out of memory at once, unless something waits there.
    fn evict(table: &mut Table, key: InstanceKey) {
        let Some(slot) = table.slots.get(&key) else { return };
        // Locking here while holding the table is safe: nobody asks for the table while holding an instance.
        let mut live = slot.lock();
        if !live.is_idle() {
            return;
        }
        live.evicted = true;
        drop(live);
        if let Some(slot) = table.slots.remove(&key) {
            table.keys.remove(&slot.id);
        }
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
