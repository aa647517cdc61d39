//! The errors of host operations.

use rawko_core::{EventRefusal, SnapshotError, Status, StepError, Violation};
use rawko_instance::{Category, InstanceError, ServiceError, reasons};
use rawko_store::StoreError;

/// A failed operation of a host.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// No instance has this id.
    #[error("instance `{0}` not found")]
    NoInstance(String),
    /// The id of a new instance is taken.
    #[error("instance `{0}` already exists")]
    Exists(String),
    /// No published chart has this id.
    #[error("chart `{0}` not found")]
    NoChart(String),
    /// No published version of the chart matches.
    #[error("no version of chart `{id}` matches `{wanted}`; available: {known}")]
    NoVersion {
        /// Chart id.
        id: String,
        /// Requested version or range.
        wanted: String,
        /// Published versions, comma-separated.
        known: String,
    },
    /// The version or range cannot be parsed.
    #[error("`{0}` is not a version or version range")]
    BadRange(String),
    /// Rendered findings.
    #[error("invalid chart:\n{0}")]
    InvalidChart(String),
    /// The instance has ended.
    #[error("instance `{id}` is {status} and accepts no more input", status = status.as_str())]
    Over {
        /// Instance id.
        id: String,
        /// Final status.
        status: Status,
    },
    /// The mailbox of the instance is full.
    #[error("instance `{id}` has {limit} queued events; try again later")]
    Busy {
        /// Instance id.
        id: String,
        /// Size of the mailbox.
        limit: usize,
    },
    /// An answer came while no request is pending.
    #[error("instance `{id}` has no pending request")]
    NothingAsked {
        /// Instance id.
        id: String,
    },
    /// An answer names no request while several are pending.
    #[error("instance `{id}` has several pending requests ({asked}); name one of them")]
    SeveralAsked {
        /// Instance id.
        id: String,
        /// Invoke ids of the pending requests, comma-separated.
        asked: String,
    },
    /// An answer names a request that is not pending.
    #[error("instance `{id}` has no pending request `{invoke}`; pending: {asked}")]
    NotAsked {
        /// Instance id.
        id: String,
        /// Invoke id in the answer.
        invoke: String,
        /// Invoke ids of the pending requests, comma-separated.
        asked: String,
    },
    /// The answer names a request that is over; a later one of its name is pending.
    #[error("the request `{invoke}` of instance `{id}` is over; a later one is pending: `rawko show {id}`")]
    Superseded {
        /// Instance id.
        id: String,
        /// Invoke id in the answer.
        invoke: String,
    },
    /// The chart does not take this event, or not with this data.
    #[error("instance `{id}` refuses the event: {refusal}")]
    EventRefused {
        /// Instance id.
        id: String,
        /// Reason why the chart does not take the event.
        refusal: EventRefusal,
    },
    /// The data does not fit the form; the request stays pending.
    #[error("the answer to `{invoke}` of instance `{id}` does not fit its form: {}", reasons(violations))]
    AnswerRefused {
        /// Instance id.
        id: String,
        /// Invoke id of the request.
        invoke: String,
        /// Differences between the data and the form's schema.
        violations: Vec<Violation>,
    },
    /// The step lies in the future.
    #[error("instance `{id}` has no step {step}; the last step is {last}")]
    NoStep {
        /// Instance id.
        id: String,
        /// Requested step.
        step: u64,
        /// Last step of the instance.
        last: u64,
    },
    /// A retry came for an instance without failed work.
    #[error("instance `{id}` did not fail; there is nothing to retry")]
    NotFailed {
        /// Instance id.
        id: String,
    },
    /// Nothing changed.
    #[error("cannot retry an item of instance `{id}`: {why}")]
    ItemNotRetried {
        /// Instance id.
        id: String,
        /// Reason, as a clause.
        why: String,
    },
    /// The operation needs a running instance.
    #[error("instance `{id}` is paused; resume it first: `rawko resume {id}`")]
    Paused {
        /// Instance id.
        id: String,
    },
    /// Nothing was touched.
    #[error("instance `{id}` cannot be migrated: {}", reasons.join("; "))]
    MigrationRefused {
        /// Instance id.
        id: String,
        /// One clause for each part that the target chart cannot take over.
        reasons: Vec<String>,
    },
    /// Nothing was removed.
    #[error("instance `{id}` cannot be removed: {why}")]
    NotRemovable {
        /// Instance id.
        id: String,
        /// Reason, as a clause.
        why: String,
    },
    /// A fork sets a key that does not exist or takes no such value.
    #[error("cannot set `{key}`: {why}")]
    BadEdit {
        /// Context key.
        key: String,
        /// Reason, as a clause.
        why: String,
    },
    /// The engine did not take the step.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The stored snapshot does not fit the chart.
    #[error("cannot use the stored snapshot of `{id}`: {why}")]
    Snapshot {
        /// Instance id.
        id: String,
        /// First mismatch.
        why: SnapshotError,
    },
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The operating system refused a thread; holds its message.
    #[error("cannot start a thread: {0}")]
    Thread(String),
    /// The host drains and starts nothing new.
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
            | HostError::Superseded { .. }
            | HostError::NotRemovable { .. }
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
            InstanceError::Superseded { id, invoke } => HostError::Superseded { id, invoke },
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
