//! Errors of requests to a Restate server.

use rawko_host::HostError;
use rawko_store::StoreError;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    #[error("`{0}` is not the address of a Restate server; write for example http://127.0.0.1:8080")]
    BadAddress(String),
    /// The server is down or the connection was lost. The same request may succeed later.
    #[error("the Restate server at {place} cannot be reached ({why}); {help}")]
    Unreachable { place: String, why: String, help: &'static str },
    /// The server is up, but did not respond in time.
    #[error("the Restate server at {place} did not answer within {seconds} s; {help}")]
    Slow { place: String, seconds: u64, help: &'static str },
    #[error("{0}; start `rawko worker` to register its services")]
    Missing(String),
    /// The server or a handler rejected the request permanently.
    #[error("Restate refused: {message} (status {status})")]
    Refused { status: u16, message: String },
    #[error("the Restate server at {place} returned an unreadable response: {why}")]
    Unreadable { place: String, why: String },
}

impl ClientError {
    /// Returns true if the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            ClientError::Unreachable { .. } | ClientError::Slow { .. } => true,
            ClientError::BadAddress(_)
            | ClientError::Missing(_)
            | ClientError::Refused { .. }
            | ClientError::Unreadable { .. } => false,
        }
    }
}

impl From<ClientError> for StoreError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Unreachable { .. } | ClientError::Slow { .. } => StoreError::Io(error.to_string()),
            ClientError::BadAddress(_) | ClientError::Missing(_) | ClientError::Refused { .. } => {
                StoreError::Refused(error.to_string())
            }
            ClientError::Unreadable { .. } => StoreError::Damaged(error.to_string()),
        }
    }
}

impl From<ClientError> for HostError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Unreachable { .. } | ClientError::Slow { .. } => HostError::Store(error.into()),
            ClientError::BadAddress(_)
            | ClientError::Missing(_)
            | ClientError::Refused { .. }
            | ClientError::Unreadable { .. } => HostError::Refused(error.to_string()),
        }
    }
}
