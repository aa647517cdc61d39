//! The errors of host operations.

use rawko_core::{EventRefusal, SnapshotError, Status, StepError, Violation};
use rawko_instance::{Category, InstanceError, ServiceError, reasons};
use rawko_store::StoreError;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    #[error("instance `{0}` not found")]
    NoInstance(String),
    #[error("instance `{0}` already exists")]
    Exists(String),
    #[error("chart `{0}` not found")]
    NoChart(String),
    #[error("no version of chart `{id}` matches `{wanted}`; available: {known}")]
    NoVersion { id: String, wanted: String, known: String },
    #[error("`{0}` is not a version or version range")]
    BadRange(String),
    /// Rendered findings.
    #[error("invalid chart:\n{0}")]
    InvalidChart(String),
    #[error("instance `{id}` is {status} and accepts no more input", status = status.as_str())]
    Over { id: String, status: Status },
    #[error("instance `{id}` has {limit} queued events; try again later")]
    Busy { id: String, limit: usize },
    #[error("instance `{id}` has no pending request")]
    NothingAsked { id: String },
    #[error("instance `{id}` has several pending requests ({asked}); name one of them")]
    SeveralAsked { id: String, asked: String },
    #[error("instance `{id}` has no pending request `{invoke}`; pending: {asked}")]
    NotAsked { id: String, invoke: String, asked: String },
    /// The chart does not take this event, or not with this data.
    #[error("instance `{id}` refuses the event: {refusal}")]
    EventRefused { id: String, refusal: EventRefusal },
    /// The data does not fit the form; the request stays pending.
    #[error("the answer to `{invoke}` of instance `{id}` does not fit its form: {}", reasons(violations))]
    AnswerRefused { id: String, invoke: String, violations: Vec<Violation> },
    #[error("instance `{id}` has no step {step}; the last step is {last}")]
    NoStep { id: String, step: u64, last: u64 },
    #[error("instance `{id}` did not fail; there is nothing to retry")]
    NotFailed { id: String },
    /// Nothing changed.
    #[error("cannot retry an item of instance `{id}`: {why}")]
    ItemNotRetried { id: String, why: String },
    #[error("instance `{id}` is paused; resume it first: `rawko resume {id}`")]
    Paused { id: String },
    /// Nothing was touched.
    #[error("instance `{id}` cannot be migrated: {}", reasons.join("; "))]
    MigrationRefused { id: String, reasons: Vec<String> },
    #[error("cannot set `{key}`: {why}")]
    BadEdit { key: String, why: String },
    #[error(transparent)]
    Step(#[from] StepError),
    #[error("cannot use the stored snapshot of `{id}`: {why}")]
    Snapshot { id: String, why: SnapshotError },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot start a thread: {0}")]
    Thread(String),
    #[error("the host is shutting down")]
    Closing,
    /// The message of a remote host.
    #[error("{0}")]
    Refused(String),
    /// An internal error, contained to one instance.
    #[error("internal error in a step of `{0}`; the instance is unchanged")]
    Internal(String),
}

impl HostError {
    /// Converts the error of loading a child's chart for its parent.
    pub fn as_chart_error(&self) -> ServiceError {
        match self {
            HostError::NoChart(id) => ServiceError::no_chart(id),
            HostError::NoVersion { id, wanted, known } => ServiceError::no_chart_version(id, wanted, known),
            HostError::BadRange(wanted) => ServiceError::bad_chart_range(wanted),
            _ => ServiceError::new(Category::Host, self.to_string()),
        }
    }

    /// Returns true if the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            HostError::Store(error) => error.is_transient(),
            HostError::Busy { .. } | HostError::Closing => true,
            HostError::NoInstance(_)
            | HostError::Exists(_)
            | HostError::NoChart(_)
            | HostError::NoVersion { .. }
            | HostError::BadRange(_)
            | HostError::InvalidChart(_)
            | HostError::Over { .. }
            | HostError::NothingAsked { .. }
            | HostError::SeveralAsked { .. }
            | HostError::NotAsked { .. }
            | HostError::EventRefused { .. }
            | HostError::AnswerRefused { .. }
            | HostError::NoStep { .. }
            | HostError::NotFailed { .. }
            | HostError::ItemNotRetried { .. }
            | HostError::Paused { .. }
            | HostError::MigrationRefused { .. }
            | HostError::BadEdit { .. }
            | HostError::Step(_)
            | HostError::Snapshot { .. }
            | HostError::Thread(_)
            | HostError::Refused(_)
            | HostError::Internal(_) => false,
        }
    }
}

impl From<InstanceError> for HostError {
    fn from(error: InstanceError) -> Self {
        match error {
            InstanceError::Over { id, status } => HostError::Over { id, status },
            InstanceError::NothingAsked { id } => HostError::NothingAsked { id },
            InstanceError::SeveralAsked { id, asked } => HostError::SeveralAsked { id, asked },
            InstanceError::NotAsked { id, invoke, asked } => HostError::NotAsked { id, invoke, asked },
            InstanceError::EventRefused { id, refusal } => HostError::EventRefused { id, refusal },
            InstanceError::AnswerRefused { id, invoke, violations } => {
                HostError::AnswerRefused { id, invoke, violations }
            }
            InstanceError::NotFailed { id } => HostError::NotFailed { id },
            InstanceError::ItemNotRetried { id, why } => HostError::ItemNotRetried { id, why },
            InstanceError::Paused { id } => HostError::Paused { id },
            InstanceError::MigrationRefused { id, reasons } => HostError::MigrationRefused { id, reasons },
            InstanceError::BadEdit { key, why } => HostError::BadEdit { key, why },
            InstanceError::Step(error) => HostError::Step(error),
            InstanceError::Snapshot { id, why } => HostError::Snapshot { id, why },
            InstanceError::Store(error) => HostError::Store(error),
            InstanceError::Internal(id) => HostError::Internal(id),
            other => HostError::Refused(other.to_string()),
        }
    }
}
