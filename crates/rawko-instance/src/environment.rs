//! `MachineEnvironment`: everything a machine requests from its driver while it handles an input. Synchronous and without
//! relevant side effects before the commit, so that an input handled again gets the same values.

use std::sync::Arc;

use rawko_core::{Chart, Invoke, Value, World};

use crate::agents::AgentResolver;
use crate::error::StoreError;
use crate::failure::ServiceError;
use crate::family::{FamilyLimit, Newcomer};
use crate::gate::Gate;
use crate::instance::Instance;
use crate::limits::InstanceLimits;
use crate::records::{EffectKind, InstanceKey, OpenEffect};
use crate::transaction::ServiceRequest;

/// The driver's side of one machine.
pub trait MachineEnvironment {
    /// Returns the values that expressions see as `env` and `agents`.
    fn world(&self) -> &World;

    /// Returns the project's governance rules.
    fn gate(&self) -> &Gate;

    /// Returns the limits on recursion and runaway loops.
    fn limits(&self) -> InstanceLimits {
        InstanceLimits::default()
    }

    /// Returns true if transactions include the traces of their steps
    /// ([`Transaction::traces`](crate::Transaction::traces)).
    fn wants_traces(&self) -> bool {
        false
    }

    /// Returns true if events from outside may report results and failures by name, as the stimuli of a simulation do.
    /// On a host this would let any sender forge the answer of a person or a service.
    fn takes_facts_from_outside(&self) -> bool {
        false
    }

    /// Overrides the kind of work of an invoke: a simulation provides the results of charts and agents.
    fn kind_of(&self, _instance: &Instance, _invoke: &Invoke) -> Option<EffectKind> {
        None
    }

    /// Resolves `agent:` names; without a resolver they are services.
    fn agents(&self) -> Option<&dyn AgentResolver>;

    /// Returns true if a service, handler or endpoint with this name can be called.
    fn has_service(&self, name: &str, kind: EffectKind) -> bool;

    /// Returns the origin of a service, for the audit: the program and its settings.
    fn provenance(&self, name: &str, kind: EffectKind) -> Value;

    /// Returns the permission or approval that a call rests on besides the governance rule, for the audit.
    fn basis(&self, _name: &str, _kind: EffectKind, _input: &Value) -> Option<String> {
        None
    }

    /// Returns true if a call with an unknown outcome may be repeated with the same key.
    fn may_repeat(&self, effect: &OpenEffect, request: &ServiceRequest) -> bool;

    /// Resolves a reference to the current chart. The driver keeps its text as long as an instance of it exists.
    fn chart(&self, reference: &str) -> Result<Arc<Chart>, ServiceError>;

    /// Returns the instance that a `send` addresses by name.
    fn instance(&self, name: &str) -> Result<Option<InstanceKey>, StoreError>;

    /// Returns true if a committed instance has ended and takes no more messages. A driver that cannot know returns
    /// false: then the instance itself reports the message as undelivered.
    fn has_ended(&self, _name: &str) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Counts a new instance of a family. Returns the limit that refuses it ([`FamilyCounts`](crate::FamilyCounts)).
    fn refused_by_family(&self, _newcomer: Newcomer<'_>, _now_ms: i64) -> Option<FamilyLimit> {
        None
    }

    /// Returns a committed child.
    fn child(&self, id: &str) -> Result<Option<InstanceKey>, StoreError> {
        self.instance(id)
    }

    /// Returns the step of an input with this key, if it was committed before
    /// ([`Commit::deliveries`](crate::records::Commit::deliveries)).
    fn handled(&self, instance: InstanceKey, key: &str) -> Result<Option<u64>, StoreError>;

    /// Returns a large value by content hash, for request bodies that are read back from open effects.
    fn blob(&self, hash: &[u8; 16]) -> Result<Option<crate::records::Blob>, StoreError>;

    /// Returns the key of an instance that is about to start.
    fn new_key(&self, id: &str) -> InstanceKey;

    /// Returns a number for a message, above all earlier ones.
    fn next_message(&self) -> i64;
}
