//! Services: what a chart can invoke besides charts. One trait for commands, HTTP, closures, and later agents and
//! tools; the host knows no other way to do something in the world.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use rawko_core::Value;

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
}

/// What becomes of a call without a result when the host starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRestart {
    /// It is safe to run again with the same idempotency key.
    Retry,
    /// Nobody knows whether it happened: the chart hears `category: interrupted`.
    Unknown,
}

/// Why a service did not answer with a result. The chart hears it as `event.data`.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceError {
    pub category: Category,
    pub message: String,
    /// `Some(false)`: trying again cannot help, the chart's `retry` is not asked.
    pub retryable: Option<bool>,
    /// More for the chart: the status, the exit code, what was written to stderr.
    pub details: Value,
}

/// The kinds of failure a chart can tell apart (`event.data.category`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Category {
    /// It answered that it failed.
    Failed,
    /// It could not be reached, or the answer was cut off: it may have happened.
    Network,
    /// It took longer than its settings allow: it may have happened.
    Timeout,
    /// It answered what cannot be understood.
    InvalidAnswer,
    /// The gate refused it.
    Refused,
    /// There is no such service, chart, version or agent.
    Unknown,
    /// The host died while it ran.
    Interrupted,
    /// A person did not answer in time.
    Expired,
    /// A budget is used up.
    Limit,
    /// The host itself could not do it.
    Host,
}

impl Category {
    pub fn as_str(self) -> &'static str {
        match self {
            Category::Failed => "failed",
            Category::Network => "network",
            Category::Timeout => "timeout",
            Category::InvalidAnswer => "invalid_answer",
            Category::Refused => "refused",
            Category::Unknown => "unknown",
            Category::Interrupted => "interrupted",
            Category::Expired => "expired",
            Category::Limit => "limit",
            Category::Host => "host",
        }
    }

    /// The category a service may claim for its own failure. The others are the host's to say.
    pub(crate) fn claimed(word: &str) -> Option<Self> {
        let claimable = [
            Category::Failed,
            Category::Network,
            Category::Timeout,
            Category::InvalidAnswer,
            Category::Unknown,
            Category::Expired,
            Category::Limit,
        ];
        claimable.into_iter().find(|category| category.as_str() == word)
    }

    /// Whether the call may have had its effect all the same. The next attempt then keeps the idempotency key.
    pub fn leaves_outcome_open(self) -> bool {
        matches!(self, Category::Network | Category::Timeout | Category::Interrupted)
    }
}

impl ServiceError {
    pub fn new(category: Category, message: impl Into<String>) -> Self {
        let retryable = match category {
            Category::Refused | Category::Unknown | Category::Expired | Category::Limit => Some(false),
            Category::Failed
            | Category::Network
            | Category::Timeout
            | Category::InvalidAnswer
            | Category::Interrupted
            | Category::Host => None,
        };
        Self { category, message: message.into(), retryable, details: Value::Null }
    }

    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = details;
        self
    }

    /// Something about this host must change first: a variable, a file, the settings.
    pub(crate) fn not_here(message: impl Into<String>) -> Self {
        Self { retryable: Some(false), ..Self::new(Category::Host, message) }
    }

    /// What the chart sees as `event.data`.
    pub fn to_value(&self) -> Value {
        let mut entries: Vec<(&str, Value)> =
            vec![("category", Value::str(self.category.as_str())), ("message", Value::str(&self.message))];
        if let Some(retryable) = self.retryable {
            entries.push(("retryable", Value::Bool(retryable)));
        }
        if let Value::Map(details) = &self.details {
            entries.extend(details.iter().map(|(key, value)| (&**key, value.clone())));
        }
        Value::map(entries)
    }
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
        }
    }
}
