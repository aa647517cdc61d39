//! Errors of the machine and of its store. Store errors are typed here because a machine receives them through its
//! environment.

use rawko_core::{EventRefusal, SnapshotError, Status, StepError, Violation};

/// An input that was not handled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InstanceError {
    #[error("instance `{id}` is {status} and accepts no more input", status = status.as_str())]
    Over { id: String, status: Status },
    #[error("instance `{id}` has no pending request")]
    NothingAsked { id: String },
    #[error("instance `{id}` has several pending requests ({asked}); name one of them")]
    SeveralAsked { id: String, asked: String },
    #[error("instance `{id}` has no pending request `{invoke}`; pending: {asked}")]
    NotAsked { id: String, invoke: String, asked: String },
    /// The event does not enter: nothing was recorded and nothing changed.
    #[error("instance `{id}` refuses the event: {refusal}")]
    EventRefused { id: String, refusal: EventRefusal },
    /// The data does not fit the form: the request stays pending.
    #[error("the answer to `{invoke}` of instance `{id}` does not fit its form: {}", reasons(violations))]
    AnswerRefused { id: String, invoke: String, violations: Vec<Violation> },
    #[error("instance `{id}` did not fail; there is nothing to retry")]
    NotFailed { id: String },
    /// Nothing changed.
    #[error("cannot retry an item of instance `{id}`: {why}")]
    ItemNotRetried { id: String, why: String },
    #[error("instance `{id}` is paused; resume it first: `rawko resume {id}`")]
    Paused { id: String },
    #[error("cannot set `{key}`: {why}")]
    BadEdit { key: String, why: String },
    /// Nothing was touched.
    #[error("instance `{id}` cannot be migrated: {}", reasons.join("; "))]
    MigrationRefused { id: String, reasons: Vec<String> },
    #[error(transparent)]
    Step(#[from] StepError),
    #[error("cannot use the stored snapshot of `{id}`: {why}")]
    Snapshot { id: String, why: SnapshotError },
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
    #[error("cannot read or write the store: {0}")]
    Io(String),
    #[error("the store is damaged: {0}")]
    Damaged(String),
    #[error("the store {place} has format {found}; this rawko supports formats up to {known}")]
    Format { place: String, found: u32, known: u32 },
    #[error("{place} is in use by {holder}")]
    Held { place: String, holder: String },
    /// Another host has opened the store since; this one must not write again.
    #[error(
        "another host has taken over the store {place}; this one has stopped writing; stop or restart it"
    )]
    Fenced { place: String },
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
