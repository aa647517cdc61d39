//! `Environment`: everything a machine asks its driver while it handles an input. Synchronous and without side effects
//! that matter before the commit, so that an input handled again gets the same answers.

use std::sync::Arc;

use rawko_core::{Chart, Invoke, Value, World};

use crate::agents::AgentResolver;
use crate::error::StoreError;
use crate::failure::ServiceError;
use crate::gate::Gate;
use crate::instance::Instance;
use crate::limits::Limits;
use crate::records::{EffectKind, InstanceKey, OpenEffect};
use crate::transaction::Request;

/// The driver's answers to one machine.
pub trait Environment {
    /// Values that expressions see as `env` and `agents`.
    fn world(&self) -> &World;

    /// The project's governance rules.
    fn gate(&self) -> &Gate;

    /// Bounds on recursion and runaway loops.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// Whether transactions carry the traces of their steps ([`Transaction::traces`](crate::Transaction::traces)).
    fn wants_traces(&self) -> bool {
        false
    }

    /// Another kind of work than the `src` of an invoke says: a simulation answers for charts and agents as it is told.
    fn kind_of(&self, _instance: &Instance, _invoke: &Invoke) -> Option<EffectKind> {
        None
    }

    /// Resolves `agent:` names; without a resolver they are services.
    fn agents(&self) -> Option<&dyn AgentResolver>;

    /// Whether a service, handler or endpoint with this name can be called.
    fn has_service(&self, name: &str, kind: EffectKind) -> bool;

    /// The origin of a service, for the audit: what would be run, from which settings.
    fn provenance(&self, name: &str, kind: EffectKind) -> Value;

    /// Whether a call with an unknown outcome may be made again with the same key.
    fn may_repeat(&self, effect: &OpenEffect, request: &Request) -> bool;

    /// The chart that a reference means now. The driver keeps its text for as long as an instance of it exists.
    fn chart(&self, reference: &str) -> Result<Arc<Chart>, ServiceError>;

    /// The instance that a `send` addresses by name.
    fn instance(&self, name: &str) -> Result<Option<InstanceKey>, StoreError>;

    /// A committed child.
    fn child(&self, id: &str) -> Result<Option<InstanceKey>, StoreError> {
        self.instance(id)
    }

    /// The step that an input with this key led to, if it was committed before
    /// ([`Commit::deliveries`](crate::records::Commit::deliveries)).
    fn handled(&self, instance: InstanceKey, key: &str) -> Result<Option<u64>, StoreError>;

    /// Large values by content hash, for request bodies that are read back from open effects.
    fn blob(&self, hash: &[u8; 16]) -> Result<Option<crate::records::Blob>, StoreError>;

    /// The key of an instance that is about to begin.
    fn new_key(&self, id: &str) -> InstanceKey;

    /// A number for a message, above all earlier ones.
    fn next_message(&self) -> i64;
}
