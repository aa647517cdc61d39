//! Errors of the machine and of the store behind it. A store's faults are typed here because a machine meets them
//! through its environment.

use rawko_core::{SnapshotError, Status, StepError};

/// Why an input was not taken.
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
    #[error("instance `{id}` did not fail; there is nothing to retry")]
    NotFailed { id: String },
    #[error("cannot set `{key}`: {why}")]
    BadEdit { key: String, why: String },
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

/// A fault of the world, or of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The disk or the store's own limit: nothing was written, nothing is lost; make room and go on.
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
    /// The file was deleted, replaced or cut while it was open. Nothing was acknowledged since; nothing is written any more.
    #[error("the store is lost: {0}; put the file back or restore a backup, then restart the host")]
    Lost(String),
    /// Our bug: what was asked for contradicts what the store holds.
    #[error("the store refused a commit: {0}")]
    Refused(String),
}

impl StoreError {
    /// Whether the same thing may work later without anybody changing the store.
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
