//! `ServiceError`: why a call has no result, in the words a chart can tell apart. Shared by the machine, which refuses
//! calls, and by services, which fail.

use rawko_core::Value;
use serde::{Deserialize, Serialize};

/// A call without a result. The chart sees it as `event.data`.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceError {
    pub category: Category,
    pub message: String,
    /// `Some(false)`: another attempt cannot help, so the chart's `retry` does not apply.
    pub retryable: Option<bool>,
    /// More for the chart: status, exit code, stderr.
    pub details: Value,
}

/// The kinds of failure that a chart can tell apart (`event.data.category`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Category {
    /// The service reported a failure.
    Failed,
    /// The service could not be reached, or its answer was cut off: the call may have happened.
    Network,
    /// The call took longer than its settings allow: it may have happened.
    Timeout,
    /// The answer could not be understood.
    InvalidAnswer,
    /// The gate refused the call.
    Refused,
    /// No such service, chart, version or agent.
    Unknown,
    /// An expression of the chart failed, or the first step of a child could not be taken.
    Execution,
    /// The driver died while the call ran.
    Interrupted,
    /// A person did not answer in time.
    Expired,
    /// A budget or a limit is exhausted.
    Limit,
    /// The driver itself could not do it.
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
            Category::Execution => "execution",
            Category::Interrupted => "interrupted",
            Category::Expired => "expired",
            Category::Limit => "limit",
            Category::Host => "host",
        }
    }

    /// The category that a service may claim for its own failure. The others belong to the driver.
    pub fn claimed(word: &str) -> Option<Self> {
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

    /// Whether the call may have had its effect. The next attempt then keeps the idempotency key.
    pub fn leaves_outcome_open(self) -> bool {
        matches!(self, Category::Network | Category::Timeout | Category::Interrupted)
    }
}

impl ServiceError {
    pub fn new(category: Category, message: impl Into<String>) -> Self {
        let retryable = match category {
            Category::Refused
            | Category::Unknown
            | Category::Execution
            | Category::Expired
            | Category::Limit => Some(false),
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

    /// Something about this machine must change first: a variable, a file, the settings.
    pub fn not_here(message: impl Into<String>) -> Self {
        Self { retryable: Some(false), ..Self::new(Category::Host, message) }
    }

    /// `event.data` of the chart's error event.
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

/// What becomes of a call without a result when the driver starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRestart {
    /// It is safe to run again with the same idempotency key.
    Retry,
    /// Its outcome is unknown: the chart gets `category: interrupted`.
    Unknown,
}
