//! `ModelChain`: the models that a request may go to, and what follows from a failure: a retry, the next model, or the
//! end. One policy for the arbiter and the agents; the chart only does the waiting.

use std::sync::Arc;

use rawko_host::{AttemptOutcome, Category, ServiceError};
use rawko_model::provider::{ErrorCode, Provider, ProviderError, back_off_ms};

use super::AgentServices;
use super::types::{ModelFailure, value};

/// A chain of models, the current one, and the place in files that names them.
pub(super) struct ModelChain<'w> {
    agent_services: &'w AgentServices,
    models: Vec<String>,
    index: usize,
    from: String,
}

impl<'w> ModelChain<'w> {
    /// Reads `a, b`; an empty text is the default. `from` is the place that names the models.
    pub(super) fn of(
        agent_services: &'w AgentServices,
        models: &str,
        from: &str,
        index: Option<usize>,
    ) -> Self {
        let is_default = matches!(models.trim(), "" | "default" | "inherit");
        let from = if is_default || from.is_empty() { agent_services.providers.default_from() } else { from };
        Self {
            agent_services,
            models: agent_services.providers.chain(models),
            index: index.unwrap_or(0),
            from: from.to_owned(),
        }
    }

    /// Returns the current model; the last one if there are fewer.
    pub(super) fn model(&self) -> &str {
        self.models.get(self.index).or(self.models.last()).map_or("", String::as_str)
    }

    pub(super) fn find(&self, attempt: u32, seed: &str) -> Result<(Arc<dyn Provider>, String), ServiceError> {
        let found = self.agent_services.providers.find(self.model());
        found.map_err(|problem| self.fault(&problem.into(), attempt, seed))
    }

    /// Converts a provider's error for the chart, with all that the chart needs to act on it.
    pub(super) fn fault(&self, error: &ProviderError, attempt: u32, seed: &str) -> ServiceError {
        let settings = self.agent_services.providers.back_off();
        let next = self.models.get(self.index + 1).filter(|_| may_fall_back(error.code));
        let is_permanent = is_permanent(error) && next.is_none();
        let retry_after_ms = error.retry_after_ms.map(|ms| ms.min(settings.retry_after_max_ms));
        let details = ModelFailure {
            permanent: Some(is_permanent),
            delay_ms: Some(back_off_ms(attempt, error.retry_after_ms, settings, seed)),
            retry_after_ms,
            retries_max: Some(self.agent_services.loops.retries_max),
            model: Some(self.model().to_owned()),
            next_model: next.cloned(),
            ..ModelFailure::coded(error.code, error.is_transient())
        };
        let advice = if is_permanent { self.advice(error.code) } else { String::new() };
        ServiceError::new(category(error.code), format!("{error}{advice}"))
            .with_outcome(attempt_outcome(error.code))
            .with_details(value(&details))
    }

    /// Names the key to change, and its file.
    fn advice(&self, code: ErrorCode) -> String {
        let is_known =
            |key: &str| self.agent_services.providers.find(self.model()).is_ok() && !key.is_empty();
        match code {
            // A missing key is named by its own message.
            ErrorCode::AuthenticationFailed => {
                let key = self.agent_services.providers.key_from(self.model());
                if is_known(&key) { format!("; change {key}") } else { String::new() }
            }
            _ => format!("; to use another model, change {}", self.from),
        }
    }
}

/// Returns true if another model may do what this one cannot. A request that is wrong, or a key, stays wrong: a person
/// has to see it.
fn may_fall_back(code: ErrorCode) -> bool {
    match code {
        ErrorCode::RateLimited
        | ErrorCode::ModelUnavailable
        | ErrorCode::NetworkError
        | ErrorCode::ContextLengthExceeded => true,
        ErrorCode::AuthenticationFailed | ErrorCode::InvalidRequest | ErrorCode::Unknown => false,
    }
}

/// Returns true if the same request fails again, whichever agent sends it.
fn is_permanent(error: &ProviderError) -> bool {
    match error.code {
        ErrorCode::AuthenticationFailed | ErrorCode::InvalidRequest => true,
        ErrorCode::ModelUnavailable => !error.is_transient(),
        ErrorCode::RateLimited
        | ErrorCode::NetworkError
        | ErrorCode::ContextLengthExceeded
        | ErrorCode::Unknown => false,
    }
}

fn category(code: ErrorCode) -> Category {
    match code {
        ErrorCode::NetworkError => Category::Network,
        ErrorCode::AuthenticationFailed
        | ErrorCode::RateLimited
        | ErrorCode::ContextLengthExceeded
        | ErrorCode::InvalidRequest
        | ErrorCode::ModelUnavailable
        | ErrorCode::Unknown => Category::Failed,
    }
}

/// A gateway's 5xx or 429 may follow a completion that was made and is paid for.
fn attempt_outcome(code: ErrorCode) -> AttemptOutcome {
    match code {
        ErrorCode::AuthenticationFailed | ErrorCode::ContextLengthExceeded | ErrorCode::InvalidRequest => {
            AttemptOutcome::Definite
        }
        ErrorCode::RateLimited
        | ErrorCode::ModelUnavailable
        | ErrorCode::NetworkError
        | ErrorCode::Unknown => AttemptOutcome::Unknown,
    }
}
