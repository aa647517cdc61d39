//! `AgentFile`: the typed contents of an agent file. Nothing here reads or checks.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rawko_core::{AgentEntry, Value};
use serde::Serialize;

use super::model::ModelChoice;
use super::tools::ToolRules;
use rawko_model::provider::ReasoningEffort;
use rawko_tools::{GrantLayer, Permissions};

/// An agent as its file describes it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentFile {
    /// Agent id; charts invoke it as `agent:<name>`.
    pub name: String,
    /// Name shown to people; the id if the file has none.
    pub display_name: String,
    /// For the arbiter: when to select this agent.
    pub when_to_use: String,
    /// Body of the file.
    pub system_prompt: String,
    /// Implementation of the agent.
    pub kind: AgentKind,
    /// `None` uses the caller's model, or the default.
    pub model: Option<ModelChoice>,
    /// Used in this order if the model is unavailable.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallback_models: Vec<ModelChoice>,
    /// Analyses images for a model without vision.
    pub vision_model: Option<ModelChoice>,
    /// How much the model thinks; `None` uses the settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<ReasoningEffort>,
    /// The command line of `process` and `acp` agents.
    pub command: Option<AgentCommand>,
    /// The chart of a `chart` agent: an id, or `id@version`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chart: Option<String>,
    /// The script of a `scripted` agent, relative to the project.
    pub script: Option<PathBuf>,
    /// Tools that the agent may use.
    pub tools: ToolRules,
    /// Skills whose text is part of the prompt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// Rules on single calls: `allow`, `ask` and `deny`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// Declared successors, which are rules to the arbiter.
    pub transitions: AgentSuccessors,
    /// Limits of one run.
    pub limits: AgentLimits,
    /// True if it works in a worktree of its own (`isolation: worktree`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub isolation: bool,
    /// Section `memory` as written; null if omitted.
    pub memory: Value,
    /// Section `metadata` as written; null if omitted.
    pub metadata: Value,
    /// Roles that `agents.select` filters by.
    pub roles: Vec<String>,
    /// Kinds of tasks that `agents.select` filters by.
    pub task_types: Vec<String>,
    /// The file name shown in messages.
    pub file: String,
    /// Place of the file: project, user or built in.
    pub level: Level,
    /// The file's own keys, as returned by `agents.get(name)` in charts.
    #[serde(skip)]
    pub details: Value,
}

/// The implementation of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// A model with tools.
    #[default]
    Llm,
    /// A command that speaks the JSON Lines turn protocol.
    Process,
    /// A coding agent over the Agent Client Protocol.
    Acp,
    /// A person who gets a request.
    Human,
    /// Responds from a file.
    Scripted,
    /// A chart of the project that runs as one agent.
    Chart,
}

impl AgentKind {
    /// All kinds, for lists and messages.
    pub const ALL: [AgentKind; 6] = [
        AgentKind::Llm,
        AgentKind::Process,
        AgentKind::Acp,
        AgentKind::Human,
        AgentKind::Scripted,
        AgentKind::Chart,
    ];

    /// Returns the name used in agent files.
    pub fn as_str(self) -> &'static str {
        match self {
            AgentKind::Llm => "llm",
            AgentKind::Process => "process",
            AgentKind::Acp => "acp",
            AgentKind::Human => "human",
            AgentKind::Scripted => "scripted",
            AgentKind::Chart => "chart",
        }
    }

    /// Returns true if the agent is a program that rawko starts.
    pub fn has_command(self) -> bool {
        match self {
            AgentKind::Process | AgentKind::Acp => true,
            AgentKind::Llm | AgentKind::Human | AgentKind::Scripted | AgentKind::Chart => false,
        }
    }
}

/// The location of a file, in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// `.rawko/agents` of the project.
    Project,
    /// `.claude/agents` of the project.
    ProjectClaude,
    /// `rawko/agents` below the user's configuration.
    User,
    /// `~/.claude/agents`.
    UserClaude,
    /// Built into rawko.
    BuiltIn,
}

impl Level {
    /// Returns true for a file in Claude Code's format.
    pub fn is_claude(self) -> bool {
        match self {
            Level::ProjectClaude | Level::UserClaude => true,
            Level::Project | Level::User | Level::BuiltIn => false,
        }
    }
}

/// A program and its start parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgentCommand {
    /// Program name or path.
    pub program: String,
    /// Arguments, in order.
    pub args: Vec<String>,
    /// Environment variables that are added.
    pub env: BTreeMap<String, String>,
    /// Relative to the project, never outside it.
    pub cwd: PathBuf,
}

/// The successors of this agent; agents' names, or `complete`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSuccessors {
    /// Successor after success.
    pub on_success: Option<String>,
    /// Successor after a failure.
    pub on_failure: Option<String>,
    /// Successor once the agent reached its limit on completions.
    pub on_max_iterations: Option<String>,
    /// Successors for own results, by the name of the result.
    pub custom: BTreeMap<String, String>,
}

/// Limits of one run of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentLimits {
    /// Limit on completions.
    pub max_iterations: Option<u64>,
    /// Limit on the time, in milliseconds.
    #[serde(rename = "timeout")]
    pub timeout_ms: Option<u64>,
    /// Limit on tokens, input and output together.
    pub max_tokens: Option<u64>,
    /// Tool calls and sub-agents of one completion that run at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel: Option<u64>,
}

impl AgentFile {
    /// Returns the grant layer of this agent's own rules, for the gate.
    pub fn layer(&self) -> GrantLayer {
        GrantLayer {
            source: format!("the agent `{}` (`tools` in {})", self.name, self.file),
            allowed: self.tools.allowed.clone(),
            blocked: self.tools.blocked.clone(),
            bash: self.tools.bash_filter.clone(),
            network: self.tools.network.clone(),
        }
    }

    /// Returns the entry that charts see in `agents.*`.
    pub fn entry(&self) -> AgentEntry {
        AgentEntry {
            id: self.name.clone(),
            roles: self.roles.clone(),
            task_types: self.task_types.clone(),
            details: self.details.clone(),
        }
    }
}
