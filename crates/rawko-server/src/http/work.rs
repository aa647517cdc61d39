//! What people ask about the work of agents on a project's files and tasks: requests and documents that the binary
//! answers. Separate from `project`, which is the interface itself.

use rawko_core::Value;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Selects changes of an instance and its descendants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangesRequest {
    /// Instance id.
    pub id: String,
    /// Only changes until this step.
    pub at: Option<u64>,
    /// Only the changes of this checkpoint.
    pub checkpoint: Option<u64>,
}

/// The files that an instance and its agents changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Changes {
    /// Instance id.
    pub id: String,
    /// Changed files, by path.
    pub files: Vec<ChangedFile>,
    /// Paths that others changed in between; their diff includes those changes.
    pub mixed: Vec<String>,
    /// One per call that changed files, oldest first; always all of them.
    pub checkpoints: Vec<CheckpointInfo>,
    /// True if the last undo can be taken back.
    pub can_redo: bool,
}

/// One changed file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ChangedFile {
    /// Path relative to the project.
    pub path: String,
    /// `added`, `modified` or `deleted`.
    pub status: String,
    /// Added lines.
    pub added: usize,
    /// Removed lines.
    pub removed: usize,
    /// True if the file is not text; it has no diff then.
    pub is_binary: bool,
    /// Unified diff with git's headers.
    pub diff: String,
}

/// A call that changed files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CheckpointInfo {
    /// Number of the checkpoint within the project.
    pub number: u64,
    /// Step of the instance that the call belongs to.
    pub step: Option<u64>,
    /// Time in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// `call`, `undo`, `redo` or `merge`.
    pub kind: String,
    /// Instance that made the call.
    pub instance: String,
    /// Tool or command.
    pub tool: String,
    /// Changed files, relative to the project.
    pub paths: Vec<String>,
}

/// An order to restore files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndoRequest {
    /// Instance id.
    pub id: String,
    /// Only changes after this step.
    pub to: Option<u64>,
    /// Take back the last undo.
    pub redo: bool,
    /// Overwrite files that others changed since.
    pub force: bool,
}

/// Result of an undo or redo.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Undone {
    /// Instance id.
    pub id: String,
    /// Files that have their earlier contents again.
    pub restored: Vec<String>,
    /// Files that were removed again.
    pub removed: Vec<String>,
}

/// A message for a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContinueRequest {
    /// Instance id.
    pub id: String,
    /// Message to the agents; `None` continues without one.
    pub text: Option<String>,
    /// The person, for the journal.
    pub by: Value,
}

/// Higher limits for a task that ended at one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RaiseRequest {
    /// Instance id.
    pub id: String,
    /// New limits; omitted ones stay as they are.
    pub limits: NewLimits,
}

/// Higher limits.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLimits {
    /// Total number of agent runs, including earlier ones.
    #[schema(minimum = 1)]
    pub max_iterations: Option<u32>,
    /// Total spending (USD), including earlier spending.
    pub max_budget_usd: Option<f64>,
    /// Additional time from now: `30m`.
    pub timeout: Option<String>,
}
