//! Services: what a chart can invoke besides charts. One trait for commands, HTTP, closures, and later agents and
//! tools; the host knows no other way to do something in the world.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use rawko_core::Value;

use crate::contents::Contents;
use crate::progress::Teller;
use crate::warden::Warden;

pub(crate) mod bodies;
mod closure;
pub(crate) mod command;
pub(crate) mod environment;
mod function;
pub(crate) mod http;
mod secrets;
mod table;
pub(crate) mod template;

pub use closure::{Closure, closure};
pub use environment::Environment;
pub use function::function;
pub use rawko_instance::{AttemptOutcome, Category, OnRestart, ServiceError};
pub use table::Services;

/// The answer of a service, some time later.
pub type Answer = Pin<Box<dyn Future<Output = Result<Value, ServiceError>> + Send>>;

/// Something that can be called. The host has asked the gate and written the audit line before it calls.
pub trait Service: Send + Sync {
    fn call(&self, call: Call) -> Answer;

    /// The answer of a service that is a plain function: no task is begun for it. `None`: call it.
    fn at_once(&self, _call: &Call) -> Option<Result<Value, ServiceError>> {
        None
    }

    /// Whether [`Service::at_once`] answers.
    fn is_function(&self) -> bool {
        false
    }

    /// What to do with a call that was running when the host died.
    fn on_restart(&self) -> OnRestart {
        OnRestart::Unknown
    }

    /// The same for one call, where it depends on what was asked.
    fn on_restart_of(&self, _name: &str, _input: &Value) -> OnRestart {
        self.on_restart()
    }

    /// Where it comes from, for the audit: what would be run or called, and from which settings.
    fn provenance(&self) -> Value {
        Value::Null
    }
}

/// One call of a service. Dropping the answer's future stops it; whatever runs outside must be stopped then too.
#[derive(Clone, Debug)]
pub struct Call {
    /// The idempotency key: the same for a call that is run again after a crash, or whose outcome is unknown.
    pub idempotency: Arc<str>,
    pub instance: Arc<str>,
    /// The invoke's id in the chart; for a called handler, its name.
    pub id: Arc<str>,
    /// What is called, as the chart names it.
    pub name: Arc<str>,
    pub input: Value,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// What holds for it: `tools` of the state, `within` of whoever invoked the instance, what is left of the
    /// `budget`, `loop`, and the `agent` the instance plays; null when nothing was said.
    pub policy: Value,
    /// Where to tell how it goes.
    pub teller: Teller,
    /// Whom to ask before doing something that is not this call itself.
    pub warden: Warden,
    /// Long texts that earlier answers brought in.
    pub contents: Contents,
}

#[cfg(test)]
pub(crate) mod testing {
    //! The call that the tests of services make.

    use super::{Call, Value};

    pub(crate) fn call(input: Value) -> Call {
        Call {
            idempotency: "order-1/4/0".into(),
            instance: "order-1".into(),
            id: "charge".into(),
            name: "charge_card".into(),
            input,
            attempt: 1,
            policy: Value::Null,
            teller: crate::progress::Teller::silent(),
            warden: crate::warden::Warden::absent(),
            contents: crate::contents::Contents::default(),
        }
    }
}
