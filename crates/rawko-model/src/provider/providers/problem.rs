//! Configuration problems that make a model unavailable. Separate from request errors: these are for a person to fix.

use crate::provider::{ErrorCode, ProviderError};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderProblem {
    #[error(
        "no model is configured: give the agent a `model`, set `default` under `providers` in .rawko/config.yaml, or set \
         RAWKO_MODEL, for example to anthropic/claude-sonnet-4-5"
    )]
    NoDefault,
    #[error("there is no provider `{name}`{}; known providers: {}", suggestion(.near.as_deref()), .known.join(", "))]
    UnknownProvider { name: String, near: Option<String>, known: Vec<String> },
    #[error("model `{model}` has no provider; write `provider/model`")]
    NoProvider { model: String },
    #[error("`{provider}/` has no model name; write `{provider}/model`")]
    NoModel { provider: String },
    #[error(
        "no API key for provider `{provider}`: set {}`providers.{provider}.api_key` in .rawko/config.yaml",
        or_each(.variables)
    )]
    MissingKey { provider: String, variables: Vec<String> },
    #[error("provider `{provider}` cannot be used: {why}")]
    Unusable { provider: String, why: String },
}

/// Formats `ANTHROPIC_API_KEY or `, before the key of the settings.
fn or_each(names: &[String]) -> String {
    names.iter().map(|name| format!("{name} or ")).collect()
}

fn suggestion(near: Option<&str>) -> String {
    near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default()
}

impl ProviderProblem {
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
