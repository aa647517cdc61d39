//! The instances that a host drives: all of a store, or only those that it was asked about. A command on the terminal
//! must not continue another run that happens to be in the same store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rawko_store::InstanceKey;

use crate::error::HostError;
use crate::host::{Host, HostInner};

/// Selects instances by the root of their tree: an instance without a parent, and all of its descendants.
pub(crate) struct HostScope {
    /// `None`: all.
    requested: Option<Mutex<RequestedRoots>>,
    /// Receives all roots whenever there are more.
    pub(crate) watch: Option<RootsWatch>,
}

pub(crate) type RootsWatch = Box<dyn Fn(&[Arc<str>]) + Send + Sync>;

#[derive(Default)]
struct RequestedRoots {
    /// The roots, with `true` once the tree continues after the last host.
    roots: HashMap<Arc<str>, bool>,
    /// The root of each instance, as far as it was looked up.
    known: HashMap<InstanceKey, Arc<str>>,
}

impl HostScope {
    pub(crate) fn all() -> HostScope {
        HostScope { requested: None, watch: None }
    }

    pub(crate) fn requested() -> HostScope {
        HostScope { requested: Some(Mutex::default()), watch: None }
    }

    pub(crate) fn is_all(&self) -> bool {
        self.requested.is_none()
    }

    fn lock(&self) -> Option<MutexGuard<'_, RequestedRoots>> {
        self.requested.as_ref().map(|requested| requested.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds an instance that this host starts: there is nothing to continue.
    pub(crate) fn add_new(&self, id: &str) {
        self.add(id.into(), true);
    }

    /// Adds a root. Returns true if the tree does not continue yet and should.
    fn add(&self, root: Arc<str>, continues: bool) -> bool {
        let Some(mut requested) = self.lock() else { return false };
        let known = requested.roots.get(&root).copied();
        requested.roots.insert(root, continues || known == Some(true));
        if let (None, Some(watch)) = (known, &self.watch) {
            let roots: Vec<Arc<str>> = requested.roots.keys().cloned().collect();
            watch(&roots);
        }
        continues && known != Some(true)
    }
}

impl Host {
    /// Returns true if this host moves the instance.
    pub fn drives(&self, id: &str) -> Result<bool, HostError> {
        Ok(self.inner.drives_key(self.inner.key_of(id)?))
    }
}

impl HostInner {
    /// Returns true if this host moves the instance. An instance that cannot be read is not moved.
    pub(crate) fn drives_key(&self, key: InstanceKey) -> bool {
        if self.scope.is_all() {
            return true;
        }
        let Ok(root) = self.root_of(key) else { return false };
        self.scope.lock().is_none_or(|requested| requested.roots.contains_key(&root))
    }

    /// Lets inputs reach an instance and its tree, without continuing what the last host left.
    pub(crate) fn reach(&self, id: &str) -> Result<InstanceKey, HostError> {
        let key = self.key_of(id)?;
        if !self.scope.is_all() {
            self.scope.add(self.root_of(key)?, false);
        }
        Ok(key)
    }

    /// Drives an instance and its tree from now on, and continues what the last host left.
    pub(crate) fn adopt(self: &Arc<Self>, id: &str) -> Result<InstanceKey, HostError> {
        let key = self.key_of(id)?;
        if self.scope.is_all() {
            return Ok(key);
        }
        let root = self.root_of(key)?;
        if self.scope.add(Arc::clone(&root), true) {
            self.recover_tree(&root)?;
        }
        Ok(key)
    }

    /// Returns true if the open descendants of an instance are paused.
    pub(crate) fn is_paused_below(&self, key: InstanceKey) -> Result<bool, HostError> {
        let children = self.slot(key)?.lock().machine.children();
        for child in children {
            let key = match self.key_of(&child) {
                Ok(key) => key,
                // It could not begin; the parent is about to receive the failure.
                Err(HostError::NoInstance(_)) => continue,
                Err(error) => return Err(error),
            };
            let is_resting = {
                let slot = self.slot(key)?;
                let live = slot.lock();
                live.is_idle() && (live.machine.is_paused() || live.machine.snapshot().status().is_over())
            };
            if !is_resting || !self.is_paused_below(key)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the id of the topmost ancestor.
    fn root_of(&self, key: InstanceKey) -> Result<Arc<str>, HostError> {
        if let Some(root) = self.scope.lock().and_then(|requested| requested.known.get(&key).cloned()) {
            return Ok(root);
        }
        let mut new = match self.instances.get(key) {
            Some(slot) => Arc::clone(slot.lock().machine.new_instance()),
            None => {
                let row = self.store.instance(key)?;
                Arc::new(row.ok_or_else(|| HostError::NoInstance(format!("#{}", key.0)))?.new)
            }
        };
        while let Some(parent) = &new.parent {
            match self.store.find(&parent.id)? {
                Some(row) => new = Arc::new(row.new),
                // The ancestors were pruned.
                None => break,
            }
        }
        let root = Arc::clone(&new.id);
        if let Some(mut requested) = self.scope.lock() {
            requested.known.insert(key, Arc::clone(&root));
        }
        Ok(root)
    }
}
