//! `InstanceTree`: an instance and its descendants. Decides which records belong to the followed instance.

use std::collections::HashMap;
use std::sync::Arc;

use rawko_store::{InstanceKey, InstanceRow, Store, StoreError};

/// Descendants of one instance, discovered as their records are read.
pub struct InstanceTree {
    /// `None`: every instance belongs.
    root: Option<Arc<str>>,
    known: HashMap<InstanceKey, Option<Arc<str>>>,
}

impl InstanceTree {
    /// Creates a tree of one instance and its descendants; the instance need not exist yet.
    pub fn below(root: &str) -> Self {
        Self { root: Some(root.into()), known: HashMap::new() }
    }

    /// Creates a tree that contains every instance of the store.
    pub fn all() -> Self {
        Self { root: None, known: HashMap::new() }
    }

    /// Returns the id of a member relative to the root: empty for the root itself, `None` for other instances.
    pub fn name(&mut self, key: InstanceKey, store: &dyn Store) -> Result<Option<Arc<str>>, StoreError> {
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let row = store.instance(key)?;
        let name = match row {
            Some(row) if self.belongs(&row, store)? => Some(self.short(&row.new.id)),
            Some(_) | None => None,
        };
        self.known.insert(key, name.clone());
        Ok(name)
    }

    fn belongs(&self, row: &InstanceRow, store: &dyn Store) -> Result<bool, StoreError> {
        let Some(root) = &self.root else { return Ok(true) };
        if row.new.id == *root {
            return Ok(true);
        }
        match &row.new.parent {
            Some(parent) if parent.id == *root => Ok(true),
            Some(parent) => match store.find(&parent.id)? {
                Some(parent) => self.belongs(&parent, store),
                None => Ok(false),
            },
            None => Ok(false),
        }
    }

    /// Child ids start with the parent's id; the remainder is enough to identify them.
    fn short(&self, id: &Arc<str>) -> Arc<str> {
        match &self.root {
            None => Arc::clone(id),
            Some(root) if id == root => "".into(),
            Some(root) => match id.strip_prefix(&**root).and_then(|rest| rest.strip_prefix('.')) {
                Some(rest) => rest.into(),
                None => Arc::clone(id),
            },
        }
    }
}
