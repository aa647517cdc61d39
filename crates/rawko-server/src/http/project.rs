//! `Project`: interface to the served project, implemented by the binary. It keeps the server independent of files,
//! providers and the orchestrator.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use rawko_chart::Registry;
use rawko_host::{Engine, Fork, Receipt};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::problem::{Problem, ProblemCode};
use super::work::{Changes, ChangesRequest, ContinueRequest, RaiseRequest, UndoRequest, Undone};

/// Future of a project operation.
pub type Working<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

pub trait Project: Send + Sync {
    /// Returns the agents, with the data that is available without any request.
    fn agents(&self) -> Vec<AgentInfo>;
    /// Checks the health of the agents, by name. May call programs and services, so it can take a while.
    fn health(&self) -> Working<'_, Vec<(String, AgentHealth)>>;
    /// Starts a task for the project's agents.
    fn start_task(&self, task: NewTask) -> Working<'_, Result<Receipt, Problem>>;
    /// Returns the chart that [`Project::start_task`] runs.
    fn task_chart(&self) -> &str;
    /// Returns the names that charts of this project may refer to.
    fn registry(&self) -> Registry;
    /// Returns the origin of a chart: built into rawko, or a file of the project; `None`: neither.
    fn origin(&self, chart: &str, version: &str) -> Option<ChartOrigin>;
    /// Stores an uploaded chart, so that it is published after a restart. Blocks.
    fn keep_chart(&self, chart: &str, version: &str, text: &str) -> std::io::Result<()>;

    /// Returns the files that an instance changed.
    fn changes(&self, _: ChangesRequest) -> Working<'_, Result<Changes, Problem>> {
        Box::pin(async { Err(no_files()) })
    }
    /// Restores the files that an instance changed.
    fn undo(&self, _: UndoRequest) -> Working<'_, Result<Undone, Problem>> {
        Box::pin(async { Err(no_files()) })
    }
    /// Adds a message to a task, or follows up on one that ended.
    fn continue_task(&self, _: ContinueRequest) -> Working<'_, Result<Receipt, Problem>> {
        Box::pin(async { Err(Problem::new(ProblemCode::NotPossible, "this project has no agents")) })
    }
    /// Continues a task that ended at a limit, with a higher one.
    fn raise(&self, _: RaiseRequest) -> Working<'_, Result<Receipt, Problem>> {
        Box::pin(async { Err(Problem::new(ProblemCode::NotPossible, "this project has no agents")) })
    }
    /// Forks an instance. A project with files gives the fork those of its step.
    fn fork(&self, engine: Arc<dyn Engine>, id: String, fork: Fork) -> Working<'_, Result<Receipt, Problem>> {
        Box::pin(async move { engine.fork(id, fork).await.map_err(Problem::from) })
    }
}

fn no_files() -> Problem {
    Problem::new(ProblemCode::NotPossible, "this server records no changes of files")
}

/// No project: no agents, and nothing that charts could refer to.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProject;

impl Project for NoProject {
    fn agents(&self) -> Vec<AgentInfo> {
        Vec::new()
    }

    fn health(&self) -> Working<'_, Vec<(String, AgentHealth)>> {
        Box::pin(async { Vec::new() })
    }

    fn start_task(&self, _: NewTask) -> Working<'_, Result<Receipt, Problem>> {
        Box::pin(async { Err(Problem::new(ProblemCode::NotPossible, "this project has no agents")) })
    }

    fn task_chart(&self) -> &str {
        ""
    }

    fn registry(&self) -> Registry {
        Registry::default()
    }

    fn origin(&self, _: &str, _: &str) -> Option<ChartOrigin> {
        None
    }

    fn keep_chart(&self, _: &str, _: &str, _: &str) -> std::io::Result<()> {
        Ok(())
    }
}

/// Origin of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChartOrigin {
    /// A file of the project.
    Project,
    /// Uploaded.
    Uploaded,
    /// Built into rawko.
    BuiltIn,
    /// Not published; used by existing instances.
    Stored,
}

/// An agent as defined in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentInfo {
    pub name: String,
    pub display_name: String,
    pub kind: String,
    pub model: Option<String>,
    pub description: String,
    pub file: String,
    /// Error in its file that makes it unusable.
    pub broken: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct AgentHealth {
    pub state: HealthState,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthState {
    Ok,
    Warning,
    Broken,
    Unknown,
}

/// A task in plain language, with limits.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTask {
    pub task: String,
    /// Agent that runs first, overriding the arbiter.
    pub agent: Option<String>,
    /// Stop after this many agent runs.
    #[schema(minimum = 1)]
    pub max_iterations: Option<u32>,
    /// Stop once this much is spent (USD).
    pub max_budget_usd: Option<f64>,
    /// Stop after this time: `30m`.
    pub timeout: Option<String>,
    /// Model for agents whose files name none: `provider/model`.
    pub model: Option<String>,
    /// Images for the agents.
    #[serde(default)]
    pub attachments: Vec<NewAttachment>,
    /// Instance id (generated if omitted).
    pub id: Option<String>,
}

/// An image: PNG, JPEG, GIF or WebP, at most 5 MB.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAttachment {
    /// The content as Base64.
    pub data: String,
}
