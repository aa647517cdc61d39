//! Services: everything a chart can invoke besides charts. One trait for commands, HTTP, closures, agents and tools;
//! the host has no other way to act on the outside world.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use rawko_core::Value;

use crate::contents::ContentReader;
use crate::progress::ProgressSender;
use crate::runtime_gate::RuntimeGate;

pub(crate) mod bodies;
mod closure;
pub(crate) mod command;
mod function;
pub(crate) mod http;
pub(crate) mod remote;
mod secrets;
mod table;
pub(crate) mod template;
mod tool;

pub use closure::{Closure, closure};
pub use function::function;
pub use rawko_instance::{AttemptOutcome, Category, OnRestart, ServiceError};
pub use rawko_settings::Environment;
pub use remote::{
    ProcessHandle, ProcessOffer, ProgramRegistration, RegisterRefusal, RemoteMessage, RemoteServices,
};
pub use table::{EndHook, Services};
pub use tool::ToolService;

/// The future of a service's result.
pub type ServiceFuture = Pin<Box<dyn Future<Output = Result<Value, ServiceError>> + Send>>;

/// A callable service. The host has checked the gate and written the audit line before it calls.
pub trait Service: Send + Sync {
    /// Starts a call and returns its future.
    fn call(&self, call: ServiceCall) -> ServiceFuture;

    /// Returns the result of a plain function, without starting a task. `None` means that it must be called.
    fn at_once(&self, _call: &ServiceCall) -> Option<Result<Value, ServiceError>> {
        None
    }

    /// Returns true if [`Service::at_once`] returns a result.
    fn is_function(&self) -> bool {
        false
    }

    /// Returns the handling of a call that was running when the host died.
    fn on_restart(&self) -> OnRestart {
        OnRestart::Unknown
    }

    /// Returns the handling of one call, if it depends on the input.
    fn on_restart_of(&self, _name: &str, _input: &Value) -> OnRestart {
        self.on_restart()
    }

    /// Returns the permission or approval that a call rests on, for the audit. Must be quick: the call waits for it.
    fn basis(&self, _name: &str, _input: &Value) -> Option<String> {
        None
    }

    /// Returns the origin for the audit: the program or URL, and the settings that define it.
    fn provenance(&self) -> Value {
        Value::Null
    }
}

/// One call of a service. Dropping the future of its result stops it, and must stop any outside work, too.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServiceCall {
    /// The idempotency key: the same for a call that is repeated after a crash, or whose outcome is unknown.
    pub idempotency: Arc<str>,
    /// Id of the calling instance.
    pub instance: Arc<str>,
    /// The invoke's id in the chart; for a called handler, its name.
    pub id: Arc<str>,
    /// The name of the service in the chart.
    pub name: Arc<str>,
    /// Evaluated input.
    pub input: Value,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// The policy: `tools` of the state, `within` of the caller, the remaining `budget`, `loop`, and the `agent` that
    /// the instance runs as; null if there is none.
    pub policy: Value,
    /// The sender of progress events.
    pub teller: ProgressSender,
    /// The gate for actions besides the call itself.
    pub runtime_gate: RuntimeGate,
    /// Long texts that earlier answers brought in.
    pub contents: ContentReader,
}

impl ServiceCall {
    /// Creates the first attempt of a call, without observers and without a gate, to test a service with.
    pub fn sample(name: &str, input: Value) -> ServiceCall {
        ServiceCall {
            idempotency: "order-1/4/0".into(),
            instance: "order-1".into(),
            id: "charge".into(),
            name: name.into(),
            input,
            attempt: 1,
            policy: Value::Null,
            teller: ProgressSender::silent(),
            runtime_gate: RuntimeGate::absent(),
            contents: ContentReader::default(),
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! The sample call for the tests of services.

    use super::{ServiceCall, Value};

    pub(crate) fn call(input: Value) -> ServiceCall {
        ServiceCall::sample("charge_card", input)
    }
}
