//! The machine's questions, answered by the simulation: charts by id, any service, a store in memory.

use std::sync::Arc;

use rawko_core::{Chart, Invoke, Value, World, split_item_name};
use rawko_instance::{
    AgentResolver, FamilyLimit, Gate, Instance, InstanceLimits, MachineEnvironment, Newcomer, ServiceError,
    ServiceRequest,
};
use rawko_store::{Blob, EffectKind, InstanceKey, OpenEffect, StoreError};

use super::SimDriver;

impl MachineEnvironment for SimDriver {
    fn world(&self) -> &World {
        &self.setup.world
    }

    fn gate(&self) -> &Gate {
        &self.setup.gate
    }

    fn limits(&self) -> InstanceLimits {
        self.setup.limits
    }

    fn wants_traces(&self) -> bool {
        self.traces.is_some()
    }

    fn takes_facts_from_outside(&self) -> bool {
        self.setup.takes_facts
    }

    fn kind_of(&self, instance: &Instance, invoke: &Invoke) -> Option<EffectKind> {
        if split_item_name(&invoke.id).is_some_and(|(_, index)| index > 0) {
            self.items.borrow_mut().insert((instance.key(), Arc::clone(&invoke.id)));
        }
        self.services.borrow_mut().plan(instance, invoke)
    }

    fn agents(&self) -> Option<&dyn AgentResolver> {
        self.setup.agents.as_deref()
    }

    fn has_service(&self, name: &str, kind: EffectKind) -> bool {
        self.services.borrow().has(name, kind)
    }

    fn provenance(&self, _name: &str, _kind: EffectKind) -> Value {
        Value::Null
    }

    fn may_repeat(&self, effect: &OpenEffect, _request: &ServiceRequest) -> bool {
        self.services.borrow().may_repeat(&effect.name)
    }

    fn chart(&self, reference: &str) -> Result<Arc<Chart>, ServiceError> {
        self.setup.resolve(reference)
    }

    fn instance(&self, name: &str) -> Result<Option<InstanceKey>, StoreError> {
        Ok(self.store.find(name)?.map(|row| row.key))
    }

    fn has_ended(&self, name: &str) -> Result<bool, StoreError> {
        Ok(self.store.find(name)?.is_some_and(|row| row.head.status.is_over()))
    }

    fn refused_by_family(&self, newcomer: Newcomer<'_>, now_ms: i64) -> Option<FamilyLimit> {
        let size = |since_ms| self.store.family_size(newcomer.root, since_ms).ok();
        self.families.borrow_mut().refuse(newcomer, now_ms, &self.setup.limits, size)
    }

    fn handled(&self, instance: InstanceKey, key: &str) -> Result<Option<u64>, StoreError> {
        self.store.delivered(instance, key)
    }

    fn blob(&self, hash: &[u8; 16]) -> Result<Option<Blob>, StoreError> {
        self.store.blob(hash)
    }

    fn new_key(&self, _id: &str) -> InstanceKey {
        self.next_key.set(self.next_key.get() + 1);
        InstanceKey(self.next_key.get())
    }

    fn next_message(&self) -> i64 {
        self.next_message.set(self.next_message.get() + 1);
        self.next_message.get()
    }
}
