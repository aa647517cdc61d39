//! Errors of requests to a Restate server.

use rawko_host::HostError;
use rawko_store::StoreError;

/// A failed request to a Restate server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestateError {
    /// The address is not an HTTP or HTTPS URL.
    #[error("`{0}` is not the address of a Restate server; write for example http://127.0.0.1:8080")]
    BadAddress(String),
    /// The server is down or the connection was lost. The same request may succeed later.
    #[error("the Restate server at {place} cannot be reached ({why}); {help}")]
    Unreachable {
        /// URL of the node that was tried last.
        place: String,
        /// The innermost network error, or the status of an unavailable node.
        why: String,
        /// Advice, as the end of the sentence.
        help: &'static str,
    },
    /// The server is up, but did not respond in time.
    #[error("the Restate server at {place} did not answer within {seconds} s; {help}")]
    Slow {
        /// URL of the node.
        place: String,
        /// The timeout of the request.
        seconds: u64,
        /// Advice, as the end of the sentence.
        help: &'static str,
    },
    /// The service, handler or invocation does not exist (status 404); the message of the server.
    #[error("{0}; start `rawko worker` to register its services")]
    Missing(String),
    /// The server or a handler rejected the request permanently.
    #[error("Restate refused: {message} (status {status})")]
    Refused {
        /// HTTP status; 0 if the argument could not be serialised.
        status: u16,
        /// The message of the server or handler.
        message: String,
    },
    /// The response is not the expected JSON.
    #[error("the Restate server at {place} returned an unreadable response: {why}")]
    Unreadable {
        /// URL of the node.
        place: String,
        /// The parse error.
        why: String,
    },
}

impl RestateError {
    /// Returns true if the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            RestateError::Unreachable { .. } | RestateError::Slow { .. } => true,
            RestateError::BadAddress(_)
            | RestateError::Missing(_)
            | RestateError::Refused { .. }
            | RestateError::Unreadable { .. } => false,
        }
    }
}

impl From<RestateError> for StoreError {
    fn from(error: RestateError) -> Self {
        match error {
            RestateError::Unreachable { .. } | RestateError::Slow { .. } => StoreError::Io(error.to_string()),
            RestateError::BadAddress(_) | RestateError::Missing(_) | RestateError::Refused { .. } => {
                StoreError::Refused(error.to_string())
            }
            RestateError::Unreadable { .. } => StoreError::Damaged(error.to_string()),
        }
    }
}

impl From<RestateError> for HostError {
    fn from(error: RestateError) -> Self {
        match error {
            RestateError::Unreachable { .. } | RestateError::Slow { .. } => HostError::Store(error.into()),
            RestateError::BadAddress(_)
            | RestateError::Missing(_)
            | RestateError::Refused { .. }
            | RestateError::Unreadable { .. } => HostError::Refused(error.to_string()),
        }
    }
}
