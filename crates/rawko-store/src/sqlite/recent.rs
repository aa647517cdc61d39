//! `Recent`: a bounded map of the entries that were written last, whose changes within a batch can be undone. Shared by
//! the ends of the journals and of the audits.

use std::borrow::Borrow;
use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Number of entries in each of the two generations. Far more than the maximum number of unindexed records, so the entry
/// of an unindexed record is always cached.
const GENERATION_LEN: usize = 32_768;

/// Entries in two generations: when the younger one is full, the older one is dropped.
pub(super) struct Recent<K, V> {
    young: FxHashMap<K, V>,
    old: FxHashMap<K, V>,
    /// The entries that the current batch replaced, in order, to restore if it fails.
    replaced: Vec<(K, Option<V>)>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Recent { young: FxHashMap::default(), old: FxHashMap::default(), replaced: Vec::new() }
    }
}

impl<K: Eq + Hash + Clone, V: Copy> Recent<K, V> {
    pub(super) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.young.get(key).or_else(|| self.old.get(key)).copied()
    }

    /// Sets an entry within a batch, to be kept or undone with it.
    pub(super) fn set(&mut self, key: K, value: V) {
        let before = self.young.insert(key.clone(), value);
        self.replaced.push((key, before));
    }

    /// Keeps the changes of a committed batch.
    pub(super) fn keep(&mut self) {
        self.replaced.clear();
        if self.young.len() >= GENERATION_LEN {
            self.old = std::mem::take(&mut self.young);
        }
    }

    /// Restores the entries from before a failed batch.
    pub(super) fn undo(&mut self) {
        for (key, before) in self.replaced.drain(..).rev() {
            match before {
                Some(value) => self.young.insert(key, value),
                None => self.young.remove(&key),
            };
        }
    }
}
