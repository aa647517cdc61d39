//! `InstancePath`: the id and ancestors of an instance, cached.

use std::collections::HashMap;
use std::sync::Arc;

use rawko_store::{InstanceKey, InstanceRow, Store, StoreError};

/// Cache limit; further instances are looked up again.
const KNOWN_MAX: usize = 50_000;

pub(super) struct InstancePath {
    pub(super) id: Arc<str>,
    /// Ancestors of the instance.
    pub(super) above: Vec<Arc<str>>,
    /// Agent that it runs, if any.
    pub(super) agent: Option<Arc<str>>,
}

#[derive(Default)]
pub(super) struct Kinship {
    by_key: HashMap<InstanceKey, Arc<InstancePath>>,
    by_id: HashMap<Arc<str>, Arc<InstancePath>>,
}

impl Kinship {
    /// Returns `None` if there is no such instance.
    pub(super) fn of(
        &mut self,
        key: InstanceKey,
        store: &dyn Store,
    ) -> Result<Option<Arc<InstancePath>>, StoreError> {
        if let Some(kin) = self.by_key.get(&key) {
            return Ok(Some(Arc::clone(kin)));
        }
        store.instance(key)?.map(|row| self.meet(&row, store)).transpose()
    }

    pub(super) fn named(
        &mut self,
        id: &str,
        store: &dyn Store,
    ) -> Result<Option<Arc<InstancePath>>, StoreError> {
        if let Some(kin) = self.by_id.get(id) {
            return Ok(Some(Arc::clone(kin)));
        }
        store.find(id)?.map(|row| self.meet(&row, store)).transpose()
    }

    fn meet(&mut self, row: &InstanceRow, store: &dyn Store) -> Result<Arc<InstancePath>, StoreError> {
        let mut above = Vec::new();
        if let Some(parent) = &row.new.parent {
            above.push(Arc::clone(&parent.id));
            if let Some(kin) = self.named(&parent.id, store)? {
                above.extend(kin.above.iter().cloned());
            }
        }
        if self.by_key.len() >= KNOWN_MAX {
            self.by_key.clear();
            self.by_id.clear();
        }
        let kin = Arc::new(InstancePath { id: Arc::clone(&row.new.id), above, agent: row.new.agent() });
        self.by_key.insert(row.key, Arc::clone(&kin));
        self.by_id.insert(Arc::clone(&kin.id), Arc::clone(&kin));
        Ok(kin)
    }
}
