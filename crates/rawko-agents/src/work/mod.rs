//! The services of the chart `agent`, and the resolution of agents. The chart decides the next step; the services
//! perform it, one completion or one tool call at a time.

mod advice;
mod apart;
mod arbitrate;
mod attachments;
mod bounds;
mod cast;
mod charts;
mod checking;
mod collect;
mod compact;
mod complete;
mod delegate;
mod evidence;
mod group;
mod look;
mod mentions;
mod misspelt;
mod models;
mod observed;
mod open;
mod outside;
mod patch;
mod permit;
mod profiles;
mod read;
mod recall;
mod remember;
mod session;
mod settings;
mod specs;
mod tool;
mod trees;
mod untrust;

pub use apart::Apart;
pub use arbitrate::{Again, AskAgainError, ask_again};
pub use attachments::ATTACHMENTS_BYTES_MAX;
pub use evidence::{JudgedRound, judge_round};
pub use observed::observed;
pub use permit::permissions;
pub use read::{Health, Problems, is_broken};
pub use settings::{MemorySettings, TaskSettings};
pub use specs::service_specs;
pub use trees::{History, project_history, project_worktrees};

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rawko_core::Value;
use rawko_host::{
    Answer, Call, Category, Edition, Environment, HostError, OnRestart, Service, ServiceError, Services,
};
use serde::de::DeserializeOwned;

use crate::agent::Agents;
use crate::words::ProjectWords;
use rawko_arbiter::loop_control::LoopSettings;
use rawko_arbiter::phases::Phases;
use rawko_arbiter::{ArbiterSettings, Moment, Prompts};
use rawko_model::provider::Providers;
use rawko_programs::checks::{Check, LanguageServers};
use rawko_programs::mcp::McpServers;
use rawko_tools::{Layer, Permissions, Toolbox};

/// The built-in charts that agents run on. A project may publish its own under the same id.
pub const CHARTS: [(&str, &str); 12] = [
    ("rawko's own agent.yaml", include_str!("../../charts/agent.yaml")),
    ("rawko's own dry_run.yaml", include_str!("../../charts/dry_run.yaml")),
    ("rawko's own issue_to_patch.yaml", include_str!("../../charts/issue_to_patch.yaml")),
    ("rawko's own orchestrator.yaml", include_str!("../../charts/orchestrator.yaml")),
    ("rawko's own parallel.yaml", include_str!("../../charts/parallel.yaml")),
    ("rawko's own pipeline.yaml", include_str!("../../charts/pipeline.yaml")),
    ("rawko's own plan_build.yaml", include_str!("../../charts/plan_build.yaml")),
    ("rawko's own refactor_files.yaml", include_str!("../../charts/refactor_files.yaml")),
    ("rawko's own research.yaml", include_str!("../../charts/research.yaml")),
    ("rawko's own review_diff.yaml", include_str!("../../charts/review_diff.yaml")),
    ("rawko's own sequential.yaml", include_str!("../../charts/sequential.yaml")),
    ("rawko's own task_queue.yaml", include_str!("../../charts/task_queue.yaml")),
];

/// Everything agents need, read once.
pub struct Workshop {
    pub root: PathBuf,
    pub agents: Agents,
    pub phases: Phases,
    pub providers: Providers,
    pub toolbox: Toolbox,
    /// The tool rules of the settings, outermost first: managed, the user's, the project's.
    pub layers: Vec<Layer>,
    /// Rules on single calls in the settings of the project and the user.
    pub permissions: Vec<Permissions>,
    pub loops: LoopSettings,
    /// The checks of the settings; `None` detects them from the project each time.
    pub checks: Option<Vec<Check>>,
    /// Patterns of files that agents may not change for a check to count.
    pub protected: Vec<String>,
    /// Time for running the checks before a task begins; zero leaves that out.
    pub start_time: std::time::Duration,
    pub arbiter: ArbiterSettings,
    pub prompts: Prompts,
    /// Defaults of a task's input.
    pub task: TaskSettings,
    pub memories: MemorySettings,
    /// Instructions and skills of the project.
    pub words: ProjectWords,
    pub environment: Environment,
    /// The bounds of programs that agents can influence.
    pub confinement: rawko_process::Confinement,
    pub servers: Arc<McpServers>,
    /// Language servers that keep running between checks.
    pub language_servers: LanguageServers,
    /// The hash of rawko's own chart `agent`.
    pub own_chart: OnceLock<Option<[u8; 16]>>,
    /// Checkpoints of the project's files.
    pub history: History,
    /// Copies of the project that agents work in.
    pub apart: Apart,
    /// The worktree that this workshop is for.
    pub worktree: Option<String>,
    /// Disk space of all worktrees.
    pub worktree_bytes_max: u64,
}

impl Workshop {
    /// Registers the services that agents and their charts call.
    pub fn join(self: &Arc<Self>, services: Services) -> Services {
        let serve = |duty: Duty| -> Arc<dyn Service> { Arc::new(Bench { workshop: Arc::clone(self), duty }) };
        services
            .add("work:open", serve(Duty::Open))
            .add("work:close", serve(Duty::Close))
            .add("git:merge", serve(Duty::Merge))
            .add("work:look", serve(Duty::Look))
            .add("work:permit", serve(Duty::Permit))
            .add("work:group", serve(Duty::Group))
            .add("work:collect", serve(Duty::Collect))
            .add("work:compact", serve(Duty::Compact))
            .add("work:select", serve(Duty::Decide(Moment::Select)))
            .add("work:evaluate", serve(Duty::Decide(Moment::Evaluate)))
            .add("work:remember", serve(Duty::Remember))
            .add("model:complete", serve(Duty::Complete))
            .add_scheme("tool", serve(Duty::Tool))
            .add_scheme("checks", serve(Duty::Check))
            .add_scheme("agent", serve(Duty::Outside))
    }
}

/// Loads the built-in charts, once in a process.
pub fn editions() -> Result<Vec<Edition>, HostError> {
    static LOADED: OnceLock<Vec<Edition>> = OnceLock::new();
    if let Some(loaded) = LOADED.get() {
        return Ok(loaded.clone());
    }
    let read: Vec<Edition> =
        CHARTS.iter().map(|(name, text)| Edition::read(name, text)).collect::<Result<_, _>>()?;
    Ok(LOADED.get_or_init(|| read).clone())
}

/// The services of a workshop.
#[derive(Clone, Copy, Debug)]
enum Duty {
    Open,
    Close,
    Merge,
    Permit,
    Group,
    Collect,
    Look,
    Compact,
    Complete,
    Decide(Moment),
    Remember,
    Tool,
    Check,
    Outside,
}

struct Bench {
    workshop: Arc<Workshop>,
    duty: Duty,
}

impl Service for Bench {
    fn call(&self, call: Call) -> Answer {
        let workshop = match self.duty {
            Duty::Close | Duty::Merge => None,
            _ => self.workshop.apart_for(&call.instance),
        };
        let project = Arc::clone(&self.workshop);
        let workshop = workshop.unwrap_or_else(|| Arc::clone(&project));
        match self.duty {
            Duty::Close => Box::pin(async move { apart::close(&workshop, &call.instance).await }),
            Duty::Merge => Box::pin(async move { apart::merge(&workshop, &call).await }),
            Duty::Open => Box::pin(async move { open::open(&project, call).await }),
            Duty::Look => Box::pin(async move { look::look(&workshop, call).await }),
            Duty::Compact => Box::pin(async move { compact::compact(&workshop, call).await }),
            Duty::Permit => Box::pin(async move { permit::permit(&workshop, &call) }),
            Duty::Group => Box::pin(async move { group::group(&workshop, &call) }),
            Duty::Collect => Box::pin(async move { collect::collect(&workshop, &call) }),
            Duty::Complete => Box::pin(async move { complete::complete(&workshop, call).await }),
            Duty::Decide(moment) => Box::pin(async move { arbitrate::decide(&workshop, moment, call).await }),
            Duty::Remember => Box::pin(async move { remember::remember(&workshop, call).await }),
            Duty::Tool => Box::pin(async move { tool::run(&workshop, &project, call).await }),
            Duty::Check => Box::pin(async move { checking::check(&workshop, call).await }),
            Duty::Outside => Box::pin(async move { outside::isolated(&workshop, &project, call).await }),
        }
    }

    /// Completions, reads and checks are safe to repeat; a tool or an external agent may have acted.
    fn on_restart(&self) -> OnRestart {
        match self.duty {
            Duty::Open
            | Duty::Close
            | Duty::Merge
            | Duty::Permit
            | Duty::Group
            | Duty::Collect
            | Duty::Look
            | Duty::Compact
            | Duty::Complete
            | Duty::Decide(_)
            | Duty::Remember
            | Duty::Check => OnRestart::Retry,
            Duty::Tool | Duty::Outside => OnRestart::Unknown,
        }
    }

    fn on_restart_of(&self, name: &str, _input: &Value) -> OnRestart {
        let tool = name.strip_prefix("tool:").unwrap_or(name);
        match self.duty {
            Duty::Tool if self.workshop.toolbox.is_safe_to_repeat(tool) => OnRestart::Retry,
            Duty::Tool
            | Duty::Open
            | Duty::Close
            | Duty::Merge
            | Duty::Permit
            | Duty::Group
            | Duty::Collect
            | Duty::Look
            | Duty::Compact
            | Duty::Complete
            | Duty::Decide(_)
            | Duty::Remember
            | Duty::Check
            | Duty::Outside => self.on_restart(),
        }
    }

    fn basis(&self, name: &str, input: &Value) -> Option<String> {
        match self.duty {
            Duty::Tool | Duty::Outside => permit::basis(&self.workshop, name, input),
            Duty::Open
            | Duty::Close
            | Duty::Merge
            | Duty::Permit
            | Duty::Group
            | Duty::Collect
            | Duty::Look
            | Duty::Compact
            | Duty::Complete
            | Duty::Decide(_)
            | Duty::Remember
            | Duty::Check => None,
        }
    }

    fn provenance(&self) -> Value {
        Value::map([("rawko", Value::str(env!("CARGO_PKG_VERSION")))])
    }
}

/// Deserialises a part of a call's input.
fn part<T: DeserializeOwned>(input: &Value, key: &str) -> Result<T, ServiceError> {
    serde_json::from_value(input.get(key).to_json()).map_err(|error| {
        ServiceError::new(Category::Failed, format!("`{key}` is not what the chart should give: {error}"))
    })
}

/// Serialises data for a chart.
fn value<T: serde::Serialize>(data: &T) -> Value {
    serde_json::to_value(data).map_or(Value::Null, Value::from_json)
}
