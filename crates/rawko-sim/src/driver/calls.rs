//! `SimServices`: the simulated world that calls reach. A call has its effect when it begins; its answers arrive later,
//! never, or more than once.

use std::sync::Arc;

use rawko_core::{Invoke, TimerPurpose, Value};
use rawko_instance::{EffectPlace, EffectResult, Input, Instance, ServiceError, ServiceRequest};
use rawko_store::{EffectKind, InstanceKey, OpenEffect};

use super::{SimDelivery, SimDriver};

/// A call as a service sees it.
#[derive(Clone, Debug)]
pub struct CallRequest {
    /// Id of the calling instance.
    pub instance: Arc<str>,
    /// The effect that the answer closes; its id is the idempotency key.
    pub effect: OpenEffect,
    /// Service name and input.
    pub request: ServiceRequest,
    /// Virtual time of the call in milliseconds.
    pub now_ms: i64,
    /// When the chart stops waiting for this attempt.
    pub timeout_ms: Option<i64>,
}

impl CallRequest {
    /// Returns the input of the call, or the data of a send.
    pub fn input(&self) -> &Value {
        match &self.request {
            ServiceRequest::Invoke(invoke) => &invoke.input,
            ServiceRequest::Call { params, .. } => params,
            ServiceRequest::Send(send) => &send.data,
        }
    }

    /// The result of this call, as its instance hears it.
    pub fn result(&self, result: Result<Value, ServiceError>) -> EffectResult {
        EffectResult::of(&self.effect, result)
    }
}

/// An answer of a call, and when it arrives.
#[derive(Clone, Debug)]
pub struct CallAnswer {
    /// Delay until the answer arrives, in virtual milliseconds.
    pub after_ms: u64,
    /// Output or error.
    pub result: EffectResult,
    /// It arrives though the call was stopped.
    pub survives_stop: bool,
}

impl CallAnswer {
    /// Creates an answer that is dropped if the call is stopped first.
    pub fn new(after_ms: u64, result: EffectResult) -> Self {
        Self { after_ms, result, survives_stop: false }
    }
}

/// Implementation of all services of a simulated world.
pub trait SimServices {
    /// Called before an invoke is planned. Returns the kind of effect to use instead of the one in its `src`, if any.
    fn plan(&mut self, _instance: &Instance, _invoke: &Invoke) -> Option<EffectKind> {
        None
    }

    /// Makes a call. Without an answer the call runs for ever.
    fn call(&mut self, request: &CallRequest) -> Vec<CallAnswer>;

    /// Called before an input is taken. Returns true if the same input arrives again after it.
    fn repeats(&mut self, _to: InstanceKey, _input: &Input) -> bool {
        false
    }

    /// Returns true if a service, handler or endpoint with this name can be called.
    fn has(&self, _name: &str, _kind: EffectKind) -> bool {
        true
    }

    /// Returns true if a call with an unknown outcome may be repeated.
    fn may_repeat(&self, _name: &str) -> bool {
        false
    }

    /// For checkers that know which world it is.
    fn as_any(&self) -> &dyn std::any::Any;

    /// Returns the implementation for downcasting, so that a test can read its records.
    fn as_any_mut(&mut self) -> &mut dyn std::any::Any;
}

impl SimDriver {
    pub(super) fn call(&mut self, effect: OpenEffect, request: ServiceRequest) {
        let timeout_ms = self.timeout_of(effect.instance, effect.invocation);
        let instance = self.live.get(&effect.instance).map(|it| Arc::clone(it.id())).unwrap_or_default();
        let place = EffectPlace::of(&effect);
        let call = CallRequest { instance, effect, request, now_ms: self.now_ms, timeout_ms };
        let answers = self.services.borrow_mut().call(&call);
        for CallAnswer { after_ms, result, survives_stop } in answers {
            let due_ms = self.now_ms.saturating_add(i64::try_from(after_ms).unwrap_or(i64::MAX));
            let input = Input::Result { effect: place, result };
            let delivery = SimDelivery { to: call.effect.instance, input, request: None };
            let order = self.next_order();
            self.agenda.insert((due_ms, order), (delivery, survives_stop));
        }
    }

    fn timeout_of(&self, key: InstanceKey, invocation: Option<u64>) -> Option<i64> {
        let of = |purpose: &TimerPurpose| match purpose {
            TimerPurpose::InvokeTimeout { invocation: id } => Some(*id) == invocation,
            TimerPurpose::After { .. }
            | TimerPurpose::Send { .. }
            | TimerPurpose::InvokeRetry { .. }
            | TimerPurpose::EachContinue { .. } => false,
        };
        let timers = self.live.get(&key)?.snapshot().timers();
        timers.iter().find(|timer| of(&timer.purpose)).map(|timer| timer.due_ms)
    }
}
