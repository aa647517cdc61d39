//! The services of the chart `agent`, and the resolution of agents. The chart decides the next step; the services
//! perform it, one completion or one tool call at a time.

mod advice;
mod agent_resolver;
mod arbitrate;
mod attachments;
mod bounds;
mod call_hooks;
mod charts;
mod checking;
mod collect;
mod compact;
mod complete;
mod control;
mod conversations;
mod custody;
mod delegate;
mod evidence;
mod group;
mod hook_questions;
mod isolation;
mod look;
mod mentions;
mod merge;
mod models;
mod observed_provider;
mod open;
mod outside;
mod own_charts;
mod patch;
mod permit;
mod person_request;
mod profiles;
mod read;
mod recall;
mod remember;
mod rounds;
mod service_tools;
mod session;
mod settings;
mod specs;
mod tool;
mod trees;
mod turn_hooks;
mod types;
mod unknown_tools;
mod untrusted_text;

pub use arbitrate::{AskAgainError, ReplayedDecision, ask_again};
pub use attachments::ATTACHMENTS_BYTES_MAX;
pub use conversations::ConversationCache;
pub use isolation::ProjectWorktrees;
pub use observed_provider::observed;
pub use permit::permissions;
pub use read::{AgentProblems, ComponentHealth, is_broken};
pub use rounds::{JudgedRound, begin_rounds, judge_round, start_rounds};
pub use settings::{MemorySettings, TaskSettings};
pub use specs::{add_service_names, service_specs};
pub use trees::{History, project_history, project_worktrees};

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rawko_core::{ServiceClass, ServiceName, Value};
use rawko_host::{
    Edition, Environment, HostError, OnRestart, Service, ServiceCall, ServiceError, ServiceFuture, Services,
};

use self::types::CallPolicy;
use crate::agent::Agents;
use crate::words::ProjectWords;
use rawko_arbiter::loop_control::LoopSettings;
use rawko_arbiter::phases::Phases;
use rawko_arbiter::{ArbiterSettings, Moment, Prompts};
use rawko_model::provider::Providers;
use rawko_programs::checks::{LanguageServers, ProjectCheck};
use rawko_programs::hooks::CommandHooks;
use rawko_programs::mcp::McpServers;
use rawko_tools::{GrantLayer, Permissions, Toolbox};

/// The built-in charts that agents run on. A project may publish its own under the same id.
pub const CHARTS: [(&str, &str); 14] = [
    ("rawko's own agent.yaml", include_str!("../../charts/agent.yaml")),
    ("rawko's own dry_run.yaml", include_str!("../../charts/dry_run.yaml")),
    ("rawko's own issue_to_patch.yaml", include_str!("../../charts/issue_to_patch.yaml")),
    ("rawko's own orchestrator.yaml", include_str!("../../charts/orchestrator.yaml")),
    ("rawko's own parallel.yaml", include_str!("../../charts/parallel.yaml")),
    ("rawko's own pipeline.yaml", include_str!("../../charts/pipeline.yaml")),
    ("rawko's own plan_build.yaml", include_str!("../../charts/plan_build.yaml")),
    ("rawko's own program_agent.yaml", include_str!("../../charts/program_agent.yaml")),
    ("rawko's own refactor_files.yaml", include_str!("../../charts/refactor_files.yaml")),
    ("rawko's own research.yaml", include_str!("../../charts/research.yaml")),
    ("rawko's own review_diff.yaml", include_str!("../../charts/review_diff.yaml")),
    ("rawko's own sequential.yaml", include_str!("../../charts/sequential.yaml")),
    ("rawko's own task_queue.yaml", include_str!("../../charts/task_queue.yaml")),
    ("rawko's own trigger_log.yaml", include_str!("../../charts/trigger_log.yaml")),
];

/// Everything agents need, read once.
pub struct AgentServices {
    /// Root directory of the project, or of the copy that this agent_services is for.
    pub root: PathBuf,
    /// Root directory of the project itself.
    pub project: PathBuf,
    /// Agents of all levels.
    pub agents: Agents,
    /// Phases with the overrides of the settings.
    pub phases: Phases,
    /// Model providers.
    pub providers: Providers,
    /// Tools that agents may call.
    pub toolbox: Toolbox,
    /// The tool rules of the settings, outermost first: managed, the user's, the project's.
    pub layers: Vec<GrantLayer>,
    /// Rules on single calls in the settings of the project and the user.
    pub permissions: Vec<Permissions>,
    /// Thresholds of loop control.
    pub loops: LoopSettings,
    /// The checks of the settings; `None` detects them from the project each time.
    pub checks: Option<Vec<ProjectCheck>>,
    /// Patterns of files that agents may not change for a check to count.
    pub protected: Vec<String>,
    /// Time for running the checks before a task begins; zero leaves that out.
    pub start_time: std::time::Duration,
    /// Section `arbiter` of the settings.
    pub arbiter: ArbiterSettings,
    /// Templates of the arbiter's questions.
    pub prompts: Prompts,
    /// Defaults of a task's input.
    pub task: TaskSettings,
    /// Section `memory` of the settings.
    pub memories: MemorySettings,
    /// Instructions and skills of the project.
    pub words: ProjectWords,
    /// Environment of this process, without the operator token.
    pub environment: Environment,
    /// The bounds of programs that agents can influence.
    pub confinement: rawko_process::Confinement,
    /// MCP servers; connections open on first use.
    pub servers: Arc<McpServers>,
    /// Hooks of Claude Code's settings.
    pub hooks: CommandHooks,
    /// Language servers that keep running between checks.
    pub language_servers: LanguageServers,
    /// The hash of rawko's own chart `agent`.
    pub own_chart: OnceLock<Option<[u8; 16]>>,
    /// Checkpoints of the project's files.
    pub history: History,
    /// Copies of the project that agents work in.
    pub apart: ProjectWorktrees,
    /// The worktree that this agent_services is for.
    pub worktree: Option<String>,
    /// Disk space of all worktrees.
    pub worktree_bytes_max: u64,
    /// Conversations of agents at work.
    pub conversations: ConversationCache,
}

impl AgentServices {
    /// Registers the services that agents and their charts call.
    pub fn join(self: &Arc<Self>, services: Services) -> Services {
        let serve = |kind: ServiceKind| -> Arc<dyn Service> {
            Arc::new(AgentService { agent_services: Arc::clone(self), kind })
        };
        let agent_services = Arc::clone(self);
        let services = services.on_end(Arc::new(move |instance| {
            let agent_services = Arc::clone(&agent_services);
            Box::pin(async move {
                isolation::ended(&agent_services, &instance).await;
                custody::ended(agent_services, instance).await;
            })
        }));
        specs::NAMES.iter().fold(services, |services, (name, kind)| match name.strip_suffix(':') {
            Some(family) => services.add_scheme(family, serve(*kind)),
            None => services.add(*name, serve(*kind)),
        })
    }
}

/// Returns the built-in charts, each loaded once in a process. One that cannot be loaded is left out and named by
/// [`broken_editions`]: the others still work.
pub fn editions() -> Vec<Edition> {
    chart_ids().filter_map(edition).collect()
}

/// Returns the ids of built-in charts that cannot be loaded, with the reasons.
pub fn broken_editions() -> Vec<(&'static str, HostError)> {
    chart_ids().filter_map(|id| Some((id, broken_edition(id)?))).collect()
}

/// Returns the ids of the built-in charts, without loading them.
pub fn chart_ids() -> impl Iterator<Item = &'static str> {
    CHARTS.iter().map(|(name, _)| chart_id(name))
}

/// Returns the built-in chart with this id. Only this one is loaded.
pub fn edition(id: &str) -> Option<Edition> {
    loaded(id)?.as_ref().ok().cloned()
}

/// Returns the reason why the built-in chart with this id cannot be loaded.
pub fn broken_edition(id: &str) -> Option<HostError> {
    loaded(id)?.as_ref().err().cloned()
}

/// Returns the id of a built-in chart, from the name in [`CHARTS`].
fn chart_id(name: &'static str) -> &'static str {
    let file = name.rsplit_once(' ').map_or(name, |(_, file)| file);
    match file.strip_suffix(".yaml").unwrap_or(file) {
        "orchestrator" => "rawko",
        id => id,
    }
}

/// Loads a built-in chart, once in a process.
fn loaded(id: &str) -> Option<&'static Result<Edition, HostError>> {
    static LOADED: [OnceLock<Result<Edition, HostError>>; CHARTS.len()] =
        [const { OnceLock::new() }; CHARTS.len()];
    let at = CHARTS.iter().position(|(name, _)| chart_id(name) == id)?;
    let (name, text) = CHARTS.get(at)?;
    Some(LOADED.get(at)?.get_or_init(|| Edition::read(name, text)))
}

/// The services of a agent_services; their names and types are in `specs.rs`.
#[derive(Clone, Copy, Debug)]
enum ServiceKind {
    Open,
    Close,
    Worktree,
    Merge,
    Permit,
    Group,
    Collect,
    Look,
    Compact,
    Complete,
    Stop,
    Decide(Moment),
    Remember,
    Tool,
    Base,
    CloseChecks,
    Round,
    Patch,
    Progress,
    Check,
    Outside,
}

impl ServiceKind {
    /// Completions, reads and checks are safe to repeat; a tool or an external agent may have acted.
    fn on_restart(self) -> OnRestart {
        match self {
            ServiceKind::Open
            | ServiceKind::Close
            | ServiceKind::Worktree
            | ServiceKind::Merge
            | ServiceKind::Permit
            | ServiceKind::Group
            | ServiceKind::Collect
            | ServiceKind::Look
            | ServiceKind::Compact
            | ServiceKind::Complete
            | ServiceKind::Stop
            | ServiceKind::Decide(_)
            | ServiceKind::Remember
            | ServiceKind::Base
            | ServiceKind::CloseChecks
            | ServiceKind::Round
            | ServiceKind::Patch
            | ServiceKind::Progress
            | ServiceKind::Check => OnRestart::Retry,
            ServiceKind::Tool | ServiceKind::Outside => OnRestart::Unknown,
        }
    }
}

struct AgentService {
    agent_services: Arc<AgentServices>,
    kind: ServiceKind,
}

/// Runs one service: its input is read as its type, its output becomes a value.
macro_rules! typed {
    ($run:expr) => {
        Box::pin(async move { Ok(types::value(&$run)) })
    };
}

impl Service for AgentService {
    fn call(&self, call: ServiceCall) -> ServiceFuture {
        let agent_services = match self.kind {
            ServiceKind::Close | ServiceKind::Worktree | ServiceKind::Merge => None,
            _ => self.agent_services.apart_for(&call.instance),
        };
        let project = Arc::clone(&self.agent_services);
        let agent_services = agent_services.unwrap_or_else(|| Arc::clone(&project));
        match self.kind {
            ServiceKind::Close => typed!(isolation::close(&agent_services, &call.instance).await?),
            ServiceKind::Worktree => {
                typed!(isolation::begin(&agent_services, &call, types::input(&call)?).await?)
            }
            ServiceKind::Merge => {
                typed!(merge::merge(&agent_services, &call, types::input(&call)?).await?)
            }
            ServiceKind::Open => typed!(open::open(&project, &call, types::input(&call)?).await?),
            ServiceKind::Look => typed!(look::look(&agent_services, &call, types::input(&call)?).await?),
            ServiceKind::Compact => {
                typed!(compact::compact(&agent_services, &call, types::input(&call)?).await?)
            }
            ServiceKind::Permit => {
                typed!(permit::permit(&agent_services, &call, types::input(&call)?).await?)
            }
            ServiceKind::Group => typed!(group::group(&agent_services, &call, &types::input(&call)?)?),
            ServiceKind::Collect => typed!(collect::collect(&agent_services, &call, types::input(&call)?)?),
            ServiceKind::Complete => {
                typed!(complete::complete(&agent_services, &call, project.conversations.input(&call)?).await?)
            }
            ServiceKind::Stop => {
                typed!(turn_hooks::stop(&agent_services, &call, &types::input(&call)?).await)
            }
            ServiceKind::Decide(moment) => {
                typed!(arbitrate::decide(&agent_services, moment, &call, &types::input(&call)?).await?)
            }
            ServiceKind::Remember => {
                typed!(remember::remember(&agent_services, &call, types::input(&call)?).await?)
            }
            ServiceKind::Tool => {
                Box::pin(
                    async move { tool::run(&agent_services, &project, &call, types::input(&call)?).await },
                )
            }
            ServiceKind::Base => typed!(checking::base(&agent_services, &call).await?),
            ServiceKind::CloseChecks => {
                typed!(checking::close(&agent_services, &call, types::input(&call)?).await?)
            }
            ServiceKind::Round => {
                typed!(checking::round(&agent_services, &call, types::input(&call)?).await?)
            }
            ServiceKind::Patch => typed!(patch::patch(&agent_services, types::input(&call)?).await?),
            ServiceKind::Progress => typed!(evidence::progress(&agent_services, types::input(&call)?).await?),
            ServiceKind::Check => typed!(checking::project(&agent_services, &call, optional(&call)?).await?),
            ServiceKind::Outside => {
                Box::pin(async move { outside::isolated(&agent_services, &project, call).await })
            }
        }
    }

    fn on_restart(&self) -> OnRestart {
        self.kind.on_restart()
    }

    fn on_restart_of(&self, name: &str, _input: &Value) -> OnRestart {
        let tool = ServiceName::member_of(name, ServiceClass::Tool);
        match tool.is_some_and(|tool| self.agent_services.toolbox.is_safe_to_repeat(tool)) {
            true => OnRestart::Retry,
            false => self.on_restart(),
        }
    }

    fn basis(&self, name: &str, input: &Value) -> Option<String> {
        match self.kind {
            ServiceKind::Tool | ServiceKind::Outside => permit::basis(&self.agent_services, name, input),
            _ => None,
        }
    }

    fn provenance(&self) -> Value {
        Value::map([("rawko", Value::str(env!("CARGO_PKG_VERSION")))])
    }
}

/// Reads the input of a service that can be called without one.
fn optional<T: serde::de::DeserializeOwned + Default>(call: &ServiceCall) -> Result<T, ServiceError> {
    if call.input.is_null() { Ok(T::default()) } else { types::input(call) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_chart_loads() {
        assert!(broken_editions().is_empty(), "{:?}", broken_editions());
        let ids: Vec<String> = editions().iter().map(|edition| edition.chart.id().to_owned()).collect();
        assert_eq!(ids, chart_ids().collect::<Vec<_>>());
    }
}
