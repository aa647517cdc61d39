//! `ServiceError`: a failed attempt at a call, and the certainty about its effect. Shared by the machine, which refuses
//! calls and keeps keys, and by services, which fail.

use rawko_core::Value;

/// A call without a result. The chart receives it as `event.data`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ServiceError {
    /// Class of the error, `event.data.category` in the chart.
    pub category: Category,
    /// One sentence for people, `event.data.message` in the chart.
    pub message: String,
    /// `Some(false)`: a retry cannot help, so the chart's `retry` is ignored.
    pub retryable: Option<bool>,
    /// The certainty about the call's effect. Not shown to charts: it decides about the idempotency key.
    pub outcome: AttemptOutcome,
    /// More for the chart: the status, the exit code, the end of stderr.
    pub details: Value,
}

impl From<&str> for ServiceError {
    fn from(message: &str) -> Self {
        ServiceError::new(Category::Failed, message)
    }
}

impl From<String> for ServiceError {
    fn from(message: String) -> Self {
        ServiceError::new(Category::Failed, message)
    }
}

/// The certainty about the effect of a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttemptOutcome {
    /// The call had no effect: it was never sent, or the service itself refused it. The next attempt is a new request.
    Definite,
    /// The call may have had its effect. The next attempt is the same request, so it keeps the idempotency key.
    Unknown,
}

/// The kinds of failure that a chart can distinguish (`event.data.category`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Category {
    /// It responded with a failure.
    Failed,
    /// It could not be reached, or the response was cut off.
    Network,
    /// It took longer than its settings allow: it may have happened.
    Timeout,
    /// Its response cannot be parsed.
    InvalidAnswer,
    /// The gate refused it.
    Refused,
    /// There is no such service, chart, version or agent.
    Unknown,
    /// An expression of the chart failed, or the first step of a child could not be taken.
    Execution,
    /// The driver died while the call ran.
    Interrupted,
    /// A person did not answer in time.
    Expired,
    /// A budget is exhausted.
    Limit,
    /// The host itself could not do it.
    Host,
}

impl Category {
    /// Returns the name used in charts and journals.
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

    /// Returns the category that a service may report for its own failure. The others are reserved to the host.
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

    /// Returns the outcome of an error whose service states none. `Host` covers a service that panicked half way.
    fn default_outcome(self) -> AttemptOutcome {
        match self {
            Category::Failed
            | Category::Refused
            | Category::Unknown
            | Category::Execution
            | Category::Expired
            | Category::Limit => AttemptOutcome::Definite,
            Category::Network
            | Category::Timeout
            | Category::InvalidAnswer
            | Category::Interrupted
            | Category::Host => AttemptOutcome::Unknown,
        }
    }
}

impl ServiceError {
    /// Creates an error with the default `retryable` and `outcome` of its category. A service that knows more states
    /// the outcome with [`ServiceError::with_outcome`]: the category alone cannot distinguish a 503 of a gateway from a
    /// declined card.
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
        let outcome = category.default_outcome();
        Self { category, message: message.into(), retryable, outcome, details: Value::Null }
    }

    /// Sets the details, `event.data.details` in the chart.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = details;
        self
    }

    /// Sets the certainty about the effect of the attempt.
    #[must_use]
    pub fn with_outcome(mut self, outcome: AttemptOutcome) -> Self {
        self.outcome = outcome;
        self
    }

    /// Sets whether a retry can help; `false` overrides the chart's `retry`.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.retryable = Some(retryable);
        self
    }

    /// Returns true if the call may have had its effect, so that the idempotency key must be kept.
    pub fn outcome_open(&self) -> bool {
        match self.outcome {
            AttemptOutcome::Definite => false,
            AttemptOutcome::Unknown => true,
        }
    }

    /// Something about this host must change first: a variable, a file, the settings. Nothing was sent.
    pub fn not_here(message: impl Into<String>) -> Self {
        let error = Self::new(Category::Host, message).with_outcome(AttemptOutcome::Definite);
        Self { retryable: Some(false), ..error }
    }

    /// No chart has this id. Drivers resolve references themselves; a chart hears the same of each.
    pub fn no_chart(id: &str) -> Self {
        Self::of_reference("chart_not_found", format!("chart `{id}` not found"))
    }

    /// The chart exists, but not in a matching version.
    pub fn no_chart_version(id: &str, wanted: &str, known: &str) -> Self {
        let message = format!("no version of chart `{id}` matches `{wanted}`; available: {known}");
        Self::of_reference("chart_version_not_found", message)
    }

    /// The text after the `@` is not a version range.
    pub fn bad_chart_range(wanted: &str) -> Self {
        Self::of_reference("invalid_version_range", format!("`{wanted}` is not a version or version range"))
    }

    fn of_reference(code: &str, message: String) -> Self {
        Self::new(Category::Unknown, message).with_details(Value::map([("code", Value::str(code))]))
    }

    /// Returns the `event.data` for the chart.
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
mod tests {
    use super::*;

    #[test]
    fn an_error_that_states_no_outcome_keeps_the_key_unless_the_service_refused() {
        let table = [
            (Category::Failed, false),
            (Category::Network, true),
            (Category::Timeout, true),
            (Category::InvalidAnswer, true),
            (Category::Refused, false),
            (Category::Unknown, false),
            (Category::Execution, false),
            (Category::Interrupted, true),
            (Category::Expired, false),
            (Category::Limit, false),
            (Category::Host, true),
        ];
        for (category, is_open) in table {
            assert_eq!(ServiceError::new(category, "").outcome_open(), is_open, "{category:?}");
        }
        assert!(!ServiceError::not_here("").outcome_open());
    }

    #[test]
    fn a_chart_does_not_see_the_outcome() {
        for outcome in [AttemptOutcome::Definite, AttemptOutcome::Unknown] {
            let error = ServiceError::new(Category::Failed, "busy").with_outcome(outcome);
            assert_eq!(error.to_value().to_json().to_string(), r#"{"category":"failed","message":"busy"}"#);
        }
    }
}
