//! `WorkerEnvironment`: answers the planner's questions about other instances without a request. Keys are hashes of ids, so every id
//! has one, whether the instance exists or not; if it does not, its own handler notifies the sender.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError};

use rawko_core::{Chart, Value, World};
use rawko_host::{Edition, HostError, HostProject, Library};
use rawko_instance::{
    AgentResolver, FamilyLimit, Gate, InstanceLimits, MachineEnvironment, Newcomer, ServiceError,
    ServiceRequest,
};
use rawko_store::{Blob, EffectKind, InstanceKey, OpenEffect, StoreError};

use crate::layout::instance_key;

pub(super) struct WorkerEnvironment<'a> {
    project: &'a HostProject,
    /// Charts that the client supplied.
    with: Library,
    delivered: Option<u64>,
    ids: RefCell<HashMap<InstanceKey, Arc<str>>>,
    /// Instances that a `send` named and that may not exist.
    named: RefCell<HashSet<InstanceKey>>,
    begun: RefCell<Vec<Edition>>,
    inbound: Cell<i64>,
    /// Instances that may begin, if the family has a slot for so many only.
    allowance: Option<u64>,
    /// Instances that began.
    newcomers: Cell<u64>,
}

impl<'a> WorkerEnvironment<'a> {
    /// `delivered` is the step that handled the current delivery, if it is a duplicate.
    pub(super) fn new(
        project: &'a HostProject,
        with: &[Edition],
        delivered: Option<u64>,
        allowance: Option<u64>,
    ) -> Self {
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
            allowance,
            newcomers: Cell::new(0),
        }
    }

    /// Records an id and returns its key.
    pub(super) fn enter(&self, id: &str) -> InstanceKey {
        let key = instance_key(id);
        self.ids.borrow_mut().entry(key).or_insert_with(|| id.into());
        key
    }

    pub(super) fn id(&self, key: InstanceKey) -> Option<Arc<str>> {
        self.ids.borrow().get(&key).cloned()
    }

    /// Returns true if the instance may not exist.
    pub(super) fn may_be_absent(&self, key: InstanceKey) -> bool {
        self.named.borrow().contains(&key)
    }

    /// Drains the charts of the instances that begin.
    pub(super) fn take_begun(&self) -> Vec<Edition> {
        self.begun.take()
    }
}

impl WorkerEnvironment<'_> {
    /// Charts that the client supplied take precedence over those of the worker's project.
    fn resolve(&self, reference: &str) -> Result<Edition, HostError> {
        match self.with.resolve(reference) {
            Err(HostError::NoChart(_) | HostError::NoVersion { .. }) => {
                self.project.library.resolve(reference)
            }
            resolved => resolved,
        }
    }
}

impl MachineEnvironment for WorkerEnvironment<'_> {
    fn world(&self) -> &World {
        &self.project.world
    }

    fn gate(&self) -> &Gate {
        &self.project.gate
    }

    fn limits(&self) -> InstanceLimits {
        self.project.limits
    }

    fn agents(&self) -> Option<&dyn AgentResolver> {
        self.project.agents.as_deref()
    }

    fn has_service(&self, name: &str, kind: EffectKind) -> bool {
        self.project.find_service(name, kind).is_some()
    }

    fn provenance(&self, name: &str, kind: EffectKind) -> Value {
        self.project.provenance(name, kind)
    }

    fn basis(&self, name: &str, kind: EffectKind, input: &Value) -> Option<String> {
        self.project.basis(name, kind, input)
    }

    fn may_repeat(&self, effect: &OpenEffect, request: &ServiceRequest) -> bool {
        self.project.may_repeat(effect, request)
    }

    fn chart(&self, reference: &str) -> Result<Arc<Chart>, ServiceError> {
        let edition = self.resolve(reference).map_err(|error| error.as_chart_error())?;
        self.begun.borrow_mut().push(edition.clone());
        Ok(edition.chart)
    }

    /// An endpoint of this name takes precedence: whether the instance exists is unknown here.
    fn instance(&self, name: &str) -> Result<Option<InstanceKey>, StoreError> {
        if self.project.endpoints.find(name).is_some() {
            return Ok(None);
        }
        let key = self.enter(name);
        self.named.borrow_mut().insert(key);
        Ok(Some(key))
    }

    /// The family object counts the instances of all workers after the plan; rates are those of this worker.
    fn refused_by_family(&self, newcomer: Newcomer<'_>, now_ms: i64) -> Option<FamilyLimit> {
        let limits = self.project.limits;
        if self.allowance.is_some_and(|most| self.newcomers.get() >= most) {
            return Some(FamilyLimit::Instances(limits.family_instances_max));
        }
        let rates = InstanceLimits { family_instances_max: u32::MAX, ..limits };
        let mut families = self.project.families.lock().unwrap_or_else(PoisonError::into_inner);
        let refusal = families.refuse(newcomer, now_ms, &rates, |_| None);
        if refusal.is_none() {
            self.newcomers.set(self.newcomers.get() + 1);
        }
        refusal
    }

    fn child(&self, id: &str) -> Result<Option<InstanceKey>, StoreError> {
        Ok(Some(self.enter(id)))
    }

    /// The handler has read the only key that can be looked up.
    fn handled(&self, _instance: InstanceKey, _key: &str) -> Result<Option<u64>, StoreError> {
        Ok(self.delivered)
    }

    /// Open calls are repeated by Restate, so no request is ever read back here.
    fn blob(&self, _hash: &[u8; 16]) -> Result<Option<Blob>, StoreError> {
        Ok(None)
    }

    fn new_key(&self, id: &str) -> InstanceKey {
        self.enter(id)
    }

    fn next_message(&self) -> i64 {
        self.inbound.set(self.inbound.get() + 1);
        self.inbound.get()
    }
}
