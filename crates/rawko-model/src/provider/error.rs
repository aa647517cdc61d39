//! Completion errors, in kinds that a caller can act on.

use serde::{Deserialize, Serialize};

/// A failed completion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// Class that decides whether a retry may help.
    pub code: ErrorCode,
    /// Never contains a secret.
    pub message: String,
    /// The delay that the provider requested.
    pub retry_after_ms: Option<u64>,
    /// HTTP status, if there was a response.
    pub status: Option<u16>,
}

/// The class of a provider error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The key is missing, invalid or lacks permission.
    AuthenticationFailed,
    /// Too many requests or tokens; a retry may succeed.
    RateLimited,
    /// The conversation is too long for the model.
    ContextLengthExceeded,
    /// The provider rejected the request; a retry would fail again.
    InvalidRequest,
    /// The model does not exist, or the provider is overloaded.
    ModelUnavailable,
    /// No usable response arrived.
    NetworkError,
    /// None of the other classes.
    Unknown,
}

impl ProviderError {
    /// Creates an error without status or delay.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), retry_after_ms: None, status: None }
    }

    /// Returns true if the same request may succeed later. A model that does not exist is a permanent error.
    pub fn is_transient(&self) -> bool {
        self.code.is_transient() && !matches!(self.status, Some(404 | 410))
    }
}

impl ErrorCode {
    /// All codes, in the order of the documentation.
    pub const ALL: [ErrorCode; 7] = [
        ErrorCode::AuthenticationFailed,
        ErrorCode::RateLimited,
        ErrorCode::ContextLengthExceeded,
        ErrorCode::InvalidRequest,
        ErrorCode::ModelUnavailable,
        ErrorCode::NetworkError,
        ErrorCode::Unknown,
    ];

    /// Returns the name used in journals and charts.
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

    /// Returns true if the same request may succeed later.
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
