//! The façade: a project, its actors and tasks, and typed services, for programs that embed rawko. Commands use the
//! same parts below it: discovery, trust, settings and agents.

mod actor;
mod answer;
mod error;
mod events;
mod open;
mod options;
mod persisted;
mod project;
mod service;
mod snapshot;
mod snapshots;
mod task;

pub use actor::Actor;
pub use answer::Answer;
pub use error::{Error, Result};
pub use events::{Event, Events};
pub use options::ProjectOptions;
pub use persisted::PersistedSnapshot;
pub use project::Project;
pub use service::{TypedService, service, service_with_call};
pub use snapshot::{Snapshot, SnapshotStatus as Status};
pub use snapshots::Snapshots;
pub use task::{Task, TaskCheck, TaskResult, task};

/// Parts of the crates below that the façade's own functions take or return.
pub use rawko_core::Value;
pub use rawko_host::{
    AttemptOutcome, Category, Clock, Host, Observer, OnRestart, Service, ServiceCall, ServiceError,
};
/// A model service of the program itself: [`ProjectOptions::provider`].
pub use rawko_model::provider::{
    Completion, CompletionFuture, CompletionRequest, ErrorCode, OutputSchema, Provider, ProviderError,
    ScriptProblem, Scripted, StreamEvent, StreamListener,
};
pub use rawko_model::{Message, MessagePart, Role, StopReason, ToolResult, ToolSpec, ToolUse, Usage};

/// Lets this program set up the sandbox of the programs that agents, checks and services start. Call it first in `main`:
/// the sandbox is set up by a second process of this program, which ends within this call. Without it, the programs
/// `rawko-launch` or `rawko` beside this one are used.
///
/// ```no_run
/// rawko::init();
/// // … the rest of `main`
/// ```
pub fn init() {
    rawko_process::run_if_asked();
}
