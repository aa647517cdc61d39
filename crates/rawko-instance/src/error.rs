//! Errors of the machine and of its store. Store errors are typed here because a machine receives them through its
//! environment.

use rawko_core::{EventRefusal, SnapshotError, Status, StepError, Violation};

/// An input that was not handled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InstanceError {
    /// The instance has ended.
    #[error("instance `{id}` is {status} and accepts no more input", status = status.as_str())]
    Over {
        /// Instance id.
        id: String,
        /// Final status.
        status: Status,
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
    /// The event does not enter: nothing was recorded and nothing changed.
    #[error("instance `{id}` refuses the event: {refusal}")]
    EventRefused {
        /// Instance id.
        id: String,
        /// Reason why the chart does not take the event.
        refusal: EventRefusal,
    },
    /// The data does not fit the form: the request stays pending.
    #[error("the answer to `{invoke}` of instance `{id}` does not fit its form: {}", reasons(violations))]
    AnswerRefused {
        /// Instance id.
        id: String,
        /// Invoke id of the request.
        invoke: String,
        /// Differences between the data and the form's schema.
        violations: Vec<Violation>,
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
    /// The input needs a running instance.
    #[error("instance `{id}` is paused; resume it first: `rawko resume {id}`")]
    Paused {
        /// Instance id.
        id: String,
    },
    /// A fork sets a key that does not exist or takes no such value.
    #[error("cannot set `{key}`: {why}")]
    BadEdit {
        /// Context key.
        key: String,
        /// Reason, as a clause.
        why: String,
    },
    /// Nothing was touched.
    #[error("instance `{id}` cannot be migrated: {}", reasons.join("; "))]
    MigrationRefused {
        /// Instance id.
        id: String,
        /// One clause for each part that the target chart cannot take over.
        reasons: Vec<String>,
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
    /// The environment could not read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A bug of rawko, contained to one instance.
    #[error("internal error in a step of `{0}`; the instance is unchanged")]
    Internal(String),
}

/// Violations as one line.
pub fn reasons(violations: &[Violation]) -> String {
    violations.iter().map(Violation::to_string).collect::<Vec<_>>().join("; ")
}

/// A fault of the world, or of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The disk or the store's own limit: nothing was written, nothing is lost; free space and continue.
    #[error("the store is full: {0}")]
    Full(String),
    /// The operating system or the database reported an error.
    #[error("cannot read or write the store: {0}")]
    Io(String),
    /// The content contradicts itself; holds the instance and the step.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// A newer version of rawko wrote the store.
    #[error("the store {place} has format {found}; this rawko supports formats up to {known}")]
    Format {
        /// Path of the store.
        place: String,
        /// Format version of the store.
        found: u32,
        /// Newest supported format version.
        known: u32,
    },
    /// Another process holds the store.
    #[error("{place} is in use by {holder}")]
    Held {
        /// Path of the store.
        place: String,
        /// Process that holds it, as far as it is known.
        holder: String,
    },
    /// Another host has opened the store since; this one must not write again.
    #[error(
        "another host has taken over the store {place}; this one has stopped writing; stop or restart it"
    )]
    Fenced {
        /// Path of the store.
        place: String,
    },
    /// The file was deleted, replaced or truncated while it was open. Nothing was acknowledged since; nothing is
    /// written any more.
    #[error("the store is lost: {0}; put the file back or restore a backup, then restart the host")]
    Lost(String),
    /// A bug of ours: the request contradicts the contents of the store.
    #[error("the store refused a commit: {0}")]
    Refused(String),
}

impl StoreError {
    /// Returns true if the same operation may succeed later without a change to the store.
    pub fn is_transient(&self) -> bool {
        match self {
            StoreError::Full(_) | StoreError::Io(_) | StoreError::Held { .. } => true,
            StoreError::Damaged(_)
            | StoreError::Format { .. }
            | StoreError::Fenced { .. }
            | StoreError::Lost(_)
            | StoreError::Refused(_) => false,
        }
    }
}
