//! `Services`: the simulated world that calls reach. A call has its effect when it begins; its answer arrives later, or
//! never.

use std::sync::Arc;

use rawko_core::Value;
use rawko_instance::{EffectPlace, EffectResult, Input, Request, ServiceError};
use rawko_store::{EffectKind, OpenEffect};

use super::{Delivery, Driver};

/// A call as a service sees it.
#[derive(Clone, Debug)]
pub struct CallRequest {
    pub instance: Arc<str>,
    pub idempotency: Arc<str>,
    pub name: Arc<str>,
    pub kind: EffectKind,
    pub input: Value,
    pub now_ms: i64,
}

/// The answer of a call, and how long it takes.
#[derive(Clone, Debug)]
pub struct CallAnswer {
    pub after_ms: u64,
    pub result: Result<Value, ServiceError>,
}

pub trait Services {
    /// Makes a call. `None`: no answer ever comes.
    fn call(&mut self, request: &CallRequest) -> Option<CallAnswer>;

    /// Whether a call with an unknown outcome may be made again.
    fn may_repeat(&self, _name: &str) -> bool {
        false
    }

    /// For checkers that know which world it is.
    fn as_any(&self) -> &dyn std::any::Any;
}

impl Driver {
    pub(super) fn call(&mut self, effect: &OpenEffect, request: Request) {
        let instance = self.live.get(&effect.instance).map(|it| Arc::clone(it.id())).unwrap_or_default();
        let input = match request {
            Request::Invoke(invoke) => invoke.input,
            Request::Call { params, .. } => params,
            Request::Send(send) => send.data,
        };
        let request = CallRequest {
            instance,
            idempotency: Arc::clone(&effect.idempotency),
            name: Arc::clone(&effect.name),
            kind: effect.kind,
            input,
            now_ms: self.now_ms,
        };
        let Some(CallAnswer { after_ms, result }) = self.services.call(&request) else { return };
        let due_ms = self.now_ms.saturating_add(i64::try_from(after_ms).unwrap_or(i64::MAX));
        let result = EffectResult::of(effect, result);
        let input = Input::Result { effect: EffectPlace::of(effect), result };
        let delivery = Delivery { to: effect.instance, input, request: None };
        self.next_call += 1;
        self.agenda.insert((due_ms, self.next_call), delivery);
    }
}
