//! `Book`: what a planner asks about the world around an instance, answered without asking anybody. Keys are hashes of ids,
//! so every instance has one whether it is there or not; if it is not, its own handler says so to the sender.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rawko_host::planning::{Project, Surroundings};
use rawko_host::{Edition, HostError, Library};
use rawko_store::{InstanceKey, StoreError};

use crate::layout::instance_key;

pub(super) struct Book<'a> {
    project: &'a Project,
    /// Charts that were brought along.
    with: Library,
    delivered: Option<u64>,
    ids: RefCell<HashMap<InstanceKey, Arc<str>>>,
    /// Those that a `send` named, and nobody knows to be there.
    named: RefCell<HashSet<InstanceKey>>,
    begun: RefCell<Vec<Edition>>,
    inbound: Cell<i64>,
}

impl<'a> Book<'a> {
    /// `delivered`: the step that the delivery at hand led to when it came before.
    pub(super) fn new(project: &'a Project, with: &[Edition], delivered: Option<u64>) -> Self {
        let library = Library::default();
        with.iter().for_each(|edition| library.offer(edition.clone()));
        Self {
            project,
            with: library,
            delivered,
            ids: RefCell::default(),
            named: RefCell::default(),
            begun: RefCell::default(),
            inbound: Cell::new(0),
        }
    }

    /// Notes who has this id, and gives the key.
    pub(super) fn enter(&self, id: &str) -> InstanceKey {
        let key = instance_key(id);
        self.ids.borrow_mut().entry(key).or_insert_with(|| id.into());
        key
    }

    pub(super) fn id(&self, key: InstanceKey) -> Option<Arc<str>> {
        self.ids.borrow().get(&key).cloned()
    }

    /// Whether nobody knows if there is such an instance.
    pub(super) fn may_be_absent(&self, key: InstanceKey) -> bool {
        self.named.borrow().contains(&key)
    }

    /// The charts of the instances that begin.
    pub(super) fn take_begun(&self) -> Vec<Edition> {
        self.begun.take()
    }
}

impl Surroundings for Book<'_> {
    /// An endpoint of this name goes first: whether there is such an instance is not known here.
    fn instance(&self, name: &str) -> Result<Option<InstanceKey>, StoreError> {
        if self.project.endpoints.find(name).is_some() {
            return Ok(None);
        }
        let key = self.enter(name);
        self.named.borrow_mut().insert(key);
        Ok(Some(key))
    }

    fn child(&self, id: &str) -> Result<Option<InstanceKey>, StoreError> {
        Ok(Some(self.enter(id)))
    }

    fn delivered(&self, _instance: InstanceKey, _key: &str) -> Result<Option<u64>, StoreError> {
        Ok(self.delivered)
    }

    fn resolve(&self, reference: &str) -> Result<Edition, HostError> {
        match self.with.resolve(reference) {
            Err(HostError::NoChart(_) | HostError::NoVersion { .. }) => {
                self.project.library.resolve(reference)
            }
            resolved => resolved,
        }
    }

    fn keep(&self, edition: &Edition, _at_ms: i64) -> Result<(), HostError> {
        self.begun.borrow_mut().push(edition.clone());
        Ok(())
    }

    fn new_key(&self, id: &str) -> InstanceKey {
        self.enter(id)
    }

    fn next_inbound(&self) -> i64 {
        self.inbound.set(self.inbound.get() + 1);
        self.inbound.get()
    }
}
