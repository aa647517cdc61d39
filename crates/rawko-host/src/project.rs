//! `HostProject`: the charts, services and settings of a project, independent of the driver that runs its instances.

use std::sync::{Arc, Mutex, PoisonError};

use rawko_core::{Value, World};
use rawko_instance::{
    AgentResolver, Category, FamilyCounts, FamilyLimit, FamilySize, Gate, InstanceLimits, Newcomer,
    OnRestart, ServiceError, ServiceRequest,
};
use rawko_store::{EffectKind, OpenEffect};
use tokio::sync::broadcast;

use crate::contents::ContentReader;
use crate::driver::PreparedCall;
use crate::library::Library;
use crate::progress::{CallProgress, ProgressSender};
use crate::runtime_gate::RuntimeGate;
use crate::services::{Service, ServiceCall, Services};

/// The parts of a project that a driver needs.
#[derive(Clone, Default)]
pub struct HostProject {
    /// The charts that can be started and invoked.
    pub library: Arc<Library>,
    /// Services that charts may invoke.
    pub services: Services,
    /// Targets of `send` besides instances.
    pub endpoints: Services,
    /// Rules about the services that may be called.
    pub gate: Gate,
    /// Limits of the instance machine.
    pub limits: InstanceLimits,
    /// Instances per family, against `limits`.
    pub families: Arc<Mutex<FamilyCounts>>,
    /// The resolver of agents. Without one, `agent:` names are services.
    pub agents: Option<Arc<dyn AgentResolver>>,
    /// Values that expressions see as `env` and `agents`.
    pub world: World,
}

impl HostProject {
    /// Counts a new instance of a family. Returns the limit that refuses it.
    pub fn refused_by_family(
        &self,
        newcomer: Newcomer<'_>,
        now_ms: i64,
        size: impl Fn(i64) -> Option<FamilySize>,
    ) -> Option<FamilyLimit> {
        let mut families = self.families.lock().unwrap_or_else(PoisonError::into_inner);
        families.refuse(newcomer, now_ms, &self.limits, size)
    }

    /// Returns the service of an effect. Sends go to endpoints, everything else to services.
    pub fn find_service(&self, name: &str, kind: EffectKind) -> Option<Arc<dyn Service>> {
        match kind {
            EffectKind::Send => self.endpoints.find(name),
            EffectKind::Service
            | EffectKind::Agent
            | EffectKind::Call
            | EffectKind::Child
            | EffectKind::Person
            | EffectKind::Unknown
            | EffectKind::Held => self.services.find(name),
        }
    }

    /// Prepares the call of an effect.
    pub fn prepare(
        &self,
        effect: &OpenEffect,
        instance: &Arc<str>,
        request: ServiceRequest,
        watchers: &broadcast::Sender<CallProgress>,
        (runtime_gate, contents): (RuntimeGate, ContentReader),
    ) -> Result<PreparedCall, ServiceError> {
        let Some(service) = self.find_service(&effect.name, effect.kind) else {
            let message = format!("service `{}` is not defined in the settings", effect.name);
            return Err(ServiceError::new(Category::Unknown, message));
        };
        let (id, input, attempt, policy) = asked(request);
        let (idempotency, name) = (Arc::clone(&effect.idempotency), Arc::clone(&effect.name));
        let teller = ProgressSender::new(watchers, instance, &id, &name, effect.step);
        let instance = Arc::clone(instance);
        let call = ServiceCall {
            idempotency,
            instance,
            id,
            name,
            input,
            attempt,
            policy,
            teller,
            runtime_gate,
            contents,
        };
        Ok(PreparedCall { service, call })
    }

    /// Returns true if a call with an unknown outcome may be made again.
    pub fn may_repeat(&self, effect: &OpenEffect, request: &ServiceRequest) -> bool {
        let Some(service) = self.find_service(&effect.name, effect.kind) else { return false };
        let on_restart = match request {
            ServiceRequest::Invoke(invoke) => service.on_restart_of(&effect.name, &invoke.input),
            ServiceRequest::Call { .. } | ServiceRequest::Send(_) => service.on_restart(),
        };
        on_restart == OnRestart::Retry
    }

    /// Returns the permission or approval that a call rests on, for the audit.
    pub fn basis(&self, name: &str, kind: EffectKind, input: &Value) -> Option<String> {
        self.find_service(name, kind)?.basis(name, input)
    }

    /// Returns the origin of a service, for the audit.
    pub fn provenance(&self, name: &str, kind: EffectKind) -> Value {
        self.find_service(name, kind).map_or(Value::Null, |service| service.provenance())
    }
}

/// Splits a request into the id, the input, the attempt and the policy of its call.
fn asked(request: ServiceRequest) -> (Arc<str>, Value, u32, Value) {
    match request {
        ServiceRequest::Invoke(invoke) => (invoke.id, invoke.input, invoke.attempt, invoke.policy),
        ServiceRequest::Call { handler, params } => (handler, params, 1, Value::Null),
        ServiceRequest::Send(send) => {
            let input = Value::map([("type", Value::Str(Arc::clone(&send.event))), ("data", send.data)]);
            (send.event, input, 1, Value::Null)
        }
    }
}
