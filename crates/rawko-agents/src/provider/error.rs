//! Why there is no completion, in kinds that whoever asked can act on.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    pub code: ErrorCode,
    /// Never with a secret in it.
    pub message: String,
    /// What the provider asked for.
    pub retry_after_ms: Option<u64>,
    pub status: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    AuthenticationFailed,
    RateLimited,
    ContextLengthExceeded,
    InvalidRequest,
    ModelUnavailable,
    NetworkError,
    Unknown,
}

impl ErrorCode {
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorCode::AuthenticationFailed => "authentication_failed",
            ErrorCode::RateLimited => "rate_limited",
            ErrorCode::ContextLengthExceeded => "context_length_exceeded",
            ErrorCode::InvalidRequest => "invalid_request",
            ErrorCode::ModelUnavailable => "model_unavailable",
            ErrorCode::NetworkError => "network_error",
            ErrorCode::Unknown => "unknown",
        }
    }

    /// Whether the same request may do better later.
    pub fn is_transient(self) -> bool {
        match self {
            ErrorCode::RateLimited | ErrorCode::NetworkError | ErrorCode::ModelUnavailable => true,
            ErrorCode::AuthenticationFailed
            | ErrorCode::ContextLengthExceeded
            | ErrorCode::InvalidRequest
            | ErrorCode::Unknown => false,
        }
    }
}
