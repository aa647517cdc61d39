//! The errors of host operations.

use rawko_core::{EventRefusal, SnapshotError, Status, StepError, Violation};
use rawko_instance::{Category, InstanceError, ServiceError, reasons};
use rawko_store::StoreError;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    #[error("there is no instance `{0}`")]
    NoInstance(String),
    #[error("there is already an instance `{0}`")]
    Exists(String),
    #[error("there is no chart `{0}`")]
    NoChart(String),
    #[error("chart `{id}` has no version that fits `{wanted}`; there is {known}")]
    NoVersion { id: String, wanted: String, known: String },
    #[error("`{0}` is not a version or a range of versions")]
    BadRange(String),
    /// Rendered findings.
    #[error("the chart cannot be used:\n{0}")]
    InvalidChart(String),
    #[error("instance `{id}` is {status}: nothing can happen to it any more", status = status.as_str())]
    Over { id: String, status: Status },
    #[error("instance `{id}` has {limit} events waiting already")]
    Busy { id: String, limit: usize },
    #[error("instance `{id}` asks nobody for anything")]
    NothingAsked { id: String },
    #[error("instance `{id}` asks for several things ({asked}): say which")]
    SeveralAsked { id: String, asked: String },
    #[error("instance `{id}` asks for nothing called `{invoke}`; it asks for {asked}")]
    NotAsked { id: String, invoke: String, asked: String },
    /// The chart does not take this event, or not with this data.
    #[error("instance `{id}` refuses the event: {refusal}")]
    EventRefused { id: String, refusal: EventRefusal },
    /// The data does not fit the form; the request stays pending.
    #[error("the answer to `{invoke}` of instance `{id}` does not fit its form: {}", reasons(violations))]
    AnswerRefused { id: String, invoke: String, violations: Vec<Violation> },
    #[error("instance `{id}` has no step {step}; its last one is {last}")]
    NoStep { id: String, step: u64, last: u64 },
    #[error("instance `{id}` did not fail: there is nothing to try again")]
    NotFailed { id: String },
    #[error("`{key}` cannot be set: {why}")]
    BadEdit { key: String, why: String },
    #[error(transparent)]
    Step(#[from] StepError),
    #[error("the stored snapshot of `{id}` cannot be used: {why}")]
    Snapshot { id: String, why: SnapshotError },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the host cannot start a thread: {0}")]
    Thread(String),
    #[error("the host is shutting down")]
    Closing,
    /// The message of a remote host.
    #[error("{0}")]
    Refused(String),
    /// An internal error, contained to one instance.
    #[error("internal error while taking a step of `{0}`; the instance stands as it was before")]
    Internal(String),
}

impl HostError {
    /// Converts the error of loading a child's chart for its parent.
    pub fn as_chart_error(&self) -> ServiceError {
        let category = match self {
            HostError::NoChart(_) | HostError::NoVersion { .. } | HostError::BadRange(_) => Category::Unknown,
            _ => Category::Host,
        };
        ServiceError::new(category, self.to_string())
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
            InstanceError::BadEdit { key, why } => HostError::BadEdit { key, why },
            InstanceError::Step(error) => HostError::Step(error),
            InstanceError::Snapshot { id, why } => HostError::Snapshot { id, why },
            InstanceError::Store(error) => HostError::Store(error),
            InstanceError::Internal(id) => HostError::Internal(id),
            other => HostError::Refused(other.to_string()),
        }
    }
}
