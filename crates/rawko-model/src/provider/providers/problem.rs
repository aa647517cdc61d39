//! Configuration problems that make a model unavailable. Separate from request errors: these are for a person to fix.

use crate::provider::{ErrorCode, ProviderError};

/// A model that cannot be used as configured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderProblem {
    /// The agent names no model, and there is no default.
    #[error(
        "no model is configured: give the agent a `model`, set `default` under `providers` in .rawko/config.yaml, or set \
         RAWKO_MODEL, for example to anthropic/claude-sonnet-4-5"
    )]
    NoDefault,
    /// The name before the slash is not a provider.
    #[error("there is no provider `{name}`{}; known providers: {}", suggestion(.near.as_deref()), .known.join(", "))]
    UnknownProvider {
        /// Unknown name.
        name: String,
        /// Similar known name.
        near: Option<String>,
        /// Configured and built-in providers.
        known: Vec<String>,
    },
    /// The model's name has no slash.
    #[error("model `{model}` has no provider; write `provider/model`")]
    NoProvider {
        /// Name as written.
        model: String,
    },
    /// The name ends with the slash.
    #[error("`{provider}/` has no model name; write `{provider}/model`")]
    NoModel {
        /// Name before the slash.
        provider: String,
    },
    /// The provider needs a key.
    #[error(
        "no API key for provider `{provider}`: set {}`providers.{provider}.api_key` in .rawko/config.yaml",
        or_each(.variables)
    )]
    MissingKey {
        /// Provider name.
        provider: String,
        /// Environment variables that may hold the key.
        variables: Vec<String>,
    },
    /// The provider's settings are invalid.
    #[error("provider `{provider}` cannot be used: {why}")]
    Unusable {
        /// Provider name.
        provider: String,
        /// Reason, as a clause.
        why: String,
    },
}

/// Formats `ANTHROPIC_API_KEY or `, before the key of the settings.
fn or_each(names: &[String]) -> String {
    names.iter().map(|name| format!("{name} or ")).collect()
}

fn suggestion(near: Option<&str>) -> String {
    near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default()
}

impl ProviderProblem {
    /// Returns the class of error that a call would fail with.
    pub fn code(&self) -> ErrorCode {
        match self {
            ProviderProblem::MissingKey { .. } => ErrorCode::AuthenticationFailed,
            ProviderProblem::NoDefault
            | ProviderProblem::UnknownProvider { .. }
            | ProviderProblem::NoProvider { .. }
            | ProviderProblem::NoModel { .. }
            | ProviderProblem::Unusable { .. } => ErrorCode::InvalidRequest,
        }
    }
}

impl From<ProviderProblem> for ProviderError {
    fn from(problem: ProviderProblem) -> Self {
        ProviderError::new(problem.code(), problem.to_string())
    }
}
