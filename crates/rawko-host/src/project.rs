//! `Project`: what a project brings to its instances, whichever driver runs them.

use std::sync::Arc;

use rawko_core::{Value, World};
use rawko_instance::{AgentResolver, Category, Gate, Limits, OnRestart, Request, ServiceError};
use rawko_store::{EffectKind, OpenEffect};
use tokio::sync::broadcast;

use crate::driver::Running;
use crate::library::Library;
use crate::progress::{Progress, Teller};
use crate::services::{Call, Service, Services};
use crate::warden::Warden;

#[derive(Clone, Default)]
pub struct Project {
    /// The charts that can be started and invoked.
    pub library: Arc<Library>,
    pub services: Services,
    /// Targets of `send` besides instances.
    pub endpoints: Services,
    pub gate: Gate,
    pub limits: Limits,
    /// Resolves agents. Without it, `agent:` names are services.
    pub agents: Option<Arc<dyn AgentResolver>>,
    /// Values that expressions see as `env` and `agents`.
    pub world: World,
}

impl Project {
    /// The service that an effect's name means. Sends go to endpoints, everything else to services.
    pub fn find_service(&self, name: &str, kind: EffectKind) -> Option<Arc<dyn Service>> {
        match kind {
            EffectKind::Send => self.endpoints.find(name),
            EffectKind::Service
            | EffectKind::Agent
            | EffectKind::Call
            | EffectKind::Child
            | EffectKind::Person
            | EffectKind::Unknown => self.services.find(name),
        }
    }

    /// The call that an effect of an instance asks for.
    pub fn prepare(
        &self,
        effect: &OpenEffect,
        instance: &Arc<str>,
        request: Request,
        watchers: &broadcast::Sender<Progress>,
        warden: Warden,
    ) -> Result<Running, ServiceError> {
        let Some(service) = self.find_service(&effect.name, effect.kind) else {
            let message = format!("service `{}` is not defined in the settings", effect.name);
            return Err(ServiceError::new(Category::Unknown, message));
        };
        let (id, input, attempt, policy) = asked(request);
        let (idempotency, name) = (Arc::clone(&effect.idempotency), Arc::clone(&effect.name));
        let teller = Teller::new(watchers, instance, &id, &name, effect.step);
        let instance = Arc::clone(instance);
        let call = Call { idempotency, instance, id, name, input, attempt, policy, teller, warden };
        Ok(Running { service, call })
    }

    /// Whether a call whose outcome nobody knows may be made again.
    pub fn may_repeat(&self, effect: &OpenEffect, request: &Request) -> bool {
        let Some(service) = self.find_service(&effect.name, effect.kind) else { return false };
        let on_restart = match request {
            Request::Invoke(invoke) => service.on_restart_of(&effect.name, &invoke.input),
            Request::Call { .. } | Request::Send(_) => service.on_restart(),
        };
        on_restart == OnRestart::Retry
    }

    /// The origin of a service, for the audit.
    pub fn provenance(&self, name: &str, kind: EffectKind) -> Value {
        self.find_service(name, kind).map_or(Value::Null, |service| service.provenance())
    }
}

/// What a request asks for: the id, the input, the attempt and the policy of its call.
fn asked(request: Request) -> (Arc<str>, Value, u32, Value) {
    match request {
        Request::Invoke(invoke) => (invoke.id, invoke.input, invoke.attempt, invoke.policy),
        Request::Call { handler, params } => (handler, params, 1, Value::Null),
        Request::Send(send) => {
            let input = Value::map([("type", Value::Str(Arc::clone(&send.event))), ("data", send.data)]);
            (send.event, input, 1, Value::Null)
        }
    }
}
