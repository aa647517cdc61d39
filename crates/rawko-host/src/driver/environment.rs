//! `MachineEnvironment` of the instance machine, implemented by this host from its project and its store.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rawko_core::{Chart, Value, World};
use rawko_instance::{
    AgentResolver, FamilyLimit, Gate, InstanceLimits, MachineEnvironment, Newcomer, ServiceError,
    ServiceRequest, StoreError,
};
use rawko_store::{Blob, EffectKind, InstanceKey, OpenEffect};

use crate::host::HostInner;

impl MachineEnvironment for HostInner {
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
        let library = &self.project.library;
        let edition =
            library.resolve_or_kept(reference, &*self.store).map_err(|error| error.as_chart_error())?;
        self.keep(&edition, self.clock.now_ms()).map_err(|error| error.as_chart_error())?;
        Ok(edition.chart)
    }

    fn instance(&self, name: &str) -> Result<Option<InstanceKey>, StoreError> {
        // Read from the store, because the lock of the instance table is never taken while an instance is locked.
        self.reader.key(name)
    }

    fn has_ended(&self, name: &str) -> Result<bool, StoreError> {
        Ok(self.store.find(name)?.is_some_and(|row| row.head.status.is_over()))
    }

    fn refused_by_family(&self, newcomer: Newcomer<'_>, now_ms: i64) -> Option<FamilyLimit> {
        let size = |since_ms| self.store.family_size(newcomer.root, since_ms).ok();
        self.project.refused_by_family(newcomer, now_ms, size)
    }

    fn handled(&self, instance: InstanceKey, key: &str) -> Result<Option<u64>, StoreError> {
        self.store.delivered(instance, key)
    }

    fn blob(&self, hash: &[u8; 16]) -> Result<Option<Blob>, StoreError> {
        self.store.blob(hash)
    }

    fn new_key(&self, _id: &str) -> InstanceKey {
        InstanceKey(self.next_key.fetch_add(1, Ordering::Relaxed))
    }

    fn next_message(&self) -> i64 {
        self.next_inbound.fetch_add(1, Ordering::Relaxed)
    }
}
