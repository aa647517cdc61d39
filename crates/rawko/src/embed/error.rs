//! The errors of the façade. Separate from the failures of commands, which are exit codes and messages for a terminal.

use rawko_host::HostError;
use rawko_store::{ReadExportError, StoreError};
use serde_json::Value as Json;

use crate::failure::CommandFailure;

/// The result of the façade's operations.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason that an operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A chart, an agent or the settings are invalid; the text holds the findings with their places.
    #[error("{0}")]
    Invalid(String),
    /// The files of the project are not trusted. A person trusts them with `rawko trust`, a program with
    /// [`ProjectOptions::trust_files`](crate::ProjectOptions::trust_files).
    #[error("{0}")]
    Untrusted(String),
    /// An argument cannot be used: a name that does not exist, a file that cannot be read.
    #[error("{0}")]
    Usage(String),
    /// The API key of a model is missing, or the operator credential cannot be used.
    #[error("{0}")]
    Credentials(String),
    /// An external failure that may be gone later: another process holds the store, the disk is full.
    #[error("{0}")]
    Unavailable(String),
    /// The host refused or could not do it.
    #[error(transparent)]
    Host(HostError),
    /// An input cannot be written as JSON, or an output does not have the requested type.
    #[error("{what}: {source}")]
    Json {
        /// The value that was converted.
        what: String,
        /// The reason.
        source: serde_json::Error,
    },
    /// The instance failed, and nothing in its chart handles it. It can be retried.
    #[error("instance `{id}` failed: {}", message(error))]
    Failed {
        /// The instance.
        id: String,
        /// The error: `category`, `message`, and details of the service.
        error: Json,
    },
    /// The instance was cancelled.
    #[error("instance `{id}` was cancelled")]
    Cancelled {
        /// The instance.
        id: String,
    },
    /// A persisted snapshot is incomplete or was modified.
    #[error(transparent)]
    Persisted(#[from] ReadExportError),
}

fn message(error: &Json) -> String {
    error.get("message").and_then(Json::as_str).map_or_else(|| error.to_string(), str::to_owned)
}

impl From<HostError> for Error {
    fn from(error: HostError) -> Self {
        match error {
            HostError::InvalidChart(findings) => Error::Invalid(findings),
            HostError::Store(error) => error.into(),
            other => Error::Host(other),
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error.is_transient() || matches!(error, StoreError::Held { .. }) {
            true => Error::Unavailable(error.to_string()),
            false => Error::Host(HostError::Store(error)),
        }
    }
}

impl From<CommandFailure> for Error {
    fn from(failure: CommandFailure) -> Self {
        match failure {
            CommandFailure::Usage(message) | CommandFailure::Failed(message) => Error::Usage(message),
            CommandFailure::Invalid(message) => Error::Invalid(message),
            CommandFailure::Findings { rendered, message } => {
                Error::Invalid(format!("{message}\n{rendered}"))
            }
            CommandFailure::Credentials(message) => Error::Credentials(message),
            CommandFailure::Transient(message) => Error::Unavailable(message),
            CommandFailure::Interrupted => Error::Unavailable("interrupted".to_owned()),
            CommandFailure::Output(error) => Error::Unavailable(error.to_string()),
        }
    }
}
