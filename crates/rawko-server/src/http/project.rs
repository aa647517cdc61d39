//! `ProjectService`: interface to the served project, implemented by the binary. It keeps the server independent of files,
//! providers and the orchestrator.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use rawko_chart::Registry;
use rawko_host::{Engine, Fork, Gate, Receipt};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::doctor::{DoctorCheck, SettingsText};
use super::problem::{ErrorResponse, ProblemCode};
use super::studio::{ChartFile, ChartTests, NewScenario, SaveChart};
use super::work::{Changes, ChangesRequest, ContinueRequest, RaiseRequest, UndoRequest, Undone};

/// Future of a project operation.
pub type ProjectFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Interface to the served project.
pub trait ProjectService: Send + Sync {
    /// Returns the agents, with the data that is available without any request.
    fn agents(&self) -> Vec<AgentInfo>;
    /// Checks the health of the agents, by name. May call programs and services, so it can take a while.
    fn health(&self) -> ProjectFuture<'_, Vec<(String, AgentHealth)>>;
    /// Starts a task for the project's agents.
    fn start_task(&self, task: NewTask) -> ProjectFuture<'_, Result<Receipt, ErrorResponse>>;
    /// Returns the chart that [`ProjectService::start_task`] runs.
    fn task_chart(&self) -> &str;
    /// Returns the names that charts of this project may refer to.
    fn registry(&self) -> Registry;
    /// Returns the origin of a chart: built into rawko, or a file of the project; `None`: neither.
    fn origin(&self, chart: &str, version: &str) -> Option<ChartOrigin>;
    /// Stores an uploaded chart, so that it is published after a restart. Blocks.
    fn keep_chart(&self, chart: &str, version: &str, text: &str) -> std::io::Result<()>;

    /// Returns the definition of an agent: prompt, model, tools, permissions, limits. No program and no secret.
    fn agent(&self, _name: &str) -> Option<serde_json::Value> {
        None
    }
    /// Returns the gate for simulations of the project's charts; `None` allows every call.
    fn simulated_gate(&self) -> Option<Gate> {
        None
    }
    /// Runs the checks of `rawko doctor` that ask nothing outside. Blocks.
    fn doctor(&self) -> Result<Vec<DoctorCheck>, ErrorResponse> {
        Ok(Vec::new())
    }
    /// Returns the settings files that apply, the nearest first.
    fn settings(&self) -> Vec<SettingsText> {
        Vec::new()
    }
    /// Adds rules to `permissions.allow` of the settings of the user that runs the server. Blocks.
    fn allow_always(&self, _rules: &[String]) -> Result<(), ErrorResponse> {
        Err(ErrorResponse::new(ProblemCode::NotPossible, "this server has no settings to add a rule to"))
    }
    /// Writes a chart to a file of the project, trusts the file, and returns its name. Blocks.
    fn save_chart(&self, _: SaveChart) -> Result<String, ErrorResponse> {
        Err(ErrorResponse::new(ProblemCode::NotPossible, "this server has no project to save to"))
    }
    /// Adds a scenario to those of a chart, if it passes, and runs them. Blocks.
    fn save_scenario(&self, _: NewScenario) -> Result<ChartTests, ErrorResponse> {
        Err(ErrorResponse::new(ProblemCode::NotPossible, "this server has no project to save to"))
    }
    /// Runs the scenarios of a chart. Blocks.
    fn test_chart(&self, _: ChartFile) -> Result<ChartTests, ErrorResponse> {
        Ok(ChartTests::default())
    }
    /// Returns the files that an instance changed.
    fn changes(&self, _: ChangesRequest) -> ProjectFuture<'_, Result<Changes, ErrorResponse>> {
        Box::pin(async { Err(no_files()) })
    }
    /// Restores the files that an instance changed.
    fn undo(&self, _: UndoRequest) -> ProjectFuture<'_, Result<Undone, ErrorResponse>> {
        Box::pin(async { Err(no_files()) })
    }
    /// Adds a message to a task, or follows up on one that ended.
    fn continue_task(&self, _: ContinueRequest) -> ProjectFuture<'_, Result<Receipt, ErrorResponse>> {
        Box::pin(async { Err(ErrorResponse::new(ProblemCode::NotPossible, "this project has no agents")) })
    }
    /// Continues a task that ended at a limit, with a higher one.
    fn raise(&self, _: RaiseRequest) -> ProjectFuture<'_, Result<Receipt, ErrorResponse>> {
        Box::pin(async { Err(ErrorResponse::new(ProblemCode::NotPossible, "this project has no agents")) })
    }
    /// Forks an instance. A project with files gives the fork those of its step.
    fn fork(
        &self,
        engine: Arc<dyn Engine>,
        id: String,
        fork: Fork,
    ) -> ProjectFuture<'_, Result<Receipt, ErrorResponse>> {
        Box::pin(async move { engine.fork(id, fork).await.map_err(ErrorResponse::from) })
    }
}

fn no_files() -> ErrorResponse {
    ErrorResponse::new(ProblemCode::NotPossible, "this server records no changes of files")
}

/// No project: no agents, and nothing that charts could refer to.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProject;

impl ProjectService for NoProject {
    fn agents(&self) -> Vec<AgentInfo> {
        Vec::new()
    }

    fn health(&self) -> ProjectFuture<'_, Vec<(String, AgentHealth)>> {
        Box::pin(async { Vec::new() })
    }

    fn start_task(&self, _: NewTask) -> ProjectFuture<'_, Result<Receipt, ErrorResponse>> {
        Box::pin(async { Err(ErrorResponse::new(ProblemCode::NotPossible, "this project has no agents")) })
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
    /// Agent id, the name of its file.
    pub name: String,
    /// Name shown to people.
    pub display_name: String,
    /// Kind of the agent: `llm`, `process`, `acp`, `human`, `scripted` or `chart`.
    pub kind: String,
    /// Model in the form `provider/model`; the project's default if omitted.
    pub model: Option<String>,
    /// When to use the agent, in one sentence.
    pub description: String,
    /// File name shown in messages.
    pub file: String,
    /// Error in its file that makes it unusable.
    pub broken: Option<String>,
}

/// The state of an agent's requirements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct AgentHealth {
    /// Summary for a badge.
    pub state: HealthState,
    /// Explanation, with the way to fix a problem.
    pub message: String,
}

/// The summary of a health check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthState {
    /// The agent can run.
    Ok,
    /// The agent can run with restrictions.
    Warning,
    /// The agent cannot run.
    Broken,
    /// Not checked.
    Unknown,
}

/// A task in plain language, with limits.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTask {
    /// Task text in plain language.
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
    /// Add the task to the queue instead of starting it now.
    #[serde(default)]
    pub queue: bool,
    /// Priority in the queue; higher runs earlier. Needs `queue`.
    pub priority: Option<i64>,
}

/// An image: PNG, JPEG, GIF or WebP, at most 5 MB.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAttachment {
    /// The content as Base64.
    pub data: String,
}
