//! What an agent is granted: layers of rules, each of which only narrows. A tool is allowed when every layer allows it.

use serde::{Deserialize, Serialize};

/// Layers, outermost first: project, agent, state, phase; a sub-agent's own come after its parent's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub layers: Vec<Layer>,
}

/// One set of rules and where it stands, so that a refusal can say what to change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// ``the phase `research` (`phases.research.tools` in .rawko/config.yaml)``, for the refusal.
    pub source: String,
    /// Patterns on names (`Read`, `mcp__git__*`); `None`: this layer allows all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Vec<String>>,
    /// Wins over `allowed`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bash: Option<BashFilter>,
}

/// What Bash may run. Every command of a pipeline, list and substitution is checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BashFilter {
    /// `git status`, `cargo *`; `None`: all but what is blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_commands: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_patterns: Vec<String>,
}
