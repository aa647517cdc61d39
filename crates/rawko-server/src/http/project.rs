//! `Project`: what only the binary knows about the project that it serves. The server sees it through this, and needs to know
//! nothing of files, providers or the orchestrator.

use std::future::Future;
use std::pin::Pin;

use rawko_chart::Registry;
use rawko_host::Receipt;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::problem::{Problem, ProblemCode};

/// Something that a project is asked to do.
pub type Working<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

pub trait Project: Send + Sync {
    /// Who can be put to work, with what is known without asking anybody.
    fn agents(&self) -> Vec<AgentInfo>;
    /// How they are, by name; may ask programs and services, so it takes its time.
    fn health(&self) -> Working<'_, Vec<(String, AgentHealth)>>;
    /// Has a task done by the project's agents.
    fn start_task(&self, task: NewTask) -> Working<'_, Result<Receipt, Problem>>;
    /// The chart that [`Project::start_task`] runs.
    fn task_chart(&self) -> &str;
    /// What charts of this project may refer to.
    fn registry(&self) -> Registry;
    /// Whether a chart is one of rawko's own, or of the project's files; `None`: neither.
    fn origin(&self, chart: &str, version: &str) -> Option<ChartOrigin>;
    /// Keeps an uploaded chart, so that it is offered after a restart. Blocks.
    fn keep_chart(&self, chart: &str, version: &str, text: &str) -> std::io::Result<()>;
}

/// No project at all: nobody to put to work, nothing that charts could refer to.
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
        Box::pin(async { Err(Problem::new(ProblemCode::NotPossible, "there are no agents here")) })
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

/// Where a chart that is offered comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChartOrigin {
    /// A file of the project.
    Project,
    /// Uploaded.
    Uploaded,
    /// One of rawko's own.
    BuiltIn,
    /// Not offered: instances began with it.
    Stored,
}

/// An agent as its file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentInfo {
    pub name: String,
    pub display_name: String,
    pub kind: String,
    pub model: Option<String>,
    pub description: String,
    pub file: String,
    /// Why it cannot be used, if its file is wrong.
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

/// A task in plain words, with limits.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTask {
    pub task: String,
    /// Who begins, whatever the arbiter thinks.
    pub agent: Option<String>,
    /// So many pieces of work at most.
    #[schema(minimum = 1)]
    pub max_iterations: Option<u32>,
    /// So much money at most, in US dollars.
    pub max_budget_usd: Option<f64>,
    /// So much time at most: `30m`.
    pub timeout: Option<String>,
    /// For agents whose files name no model: `provider/model`.
    pub model: Option<String>,
    /// The id of the instance; without one it is made up.
    pub id: Option<String>,
}
