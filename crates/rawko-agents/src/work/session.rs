//! `AgentSession`: an agent's file, its phase and its tools at the start of an execution. Frozen, so that an execution
//! continues unchanged after a restart, even if its files were edited meanwhile.

use rawko_core::Value;
use serde::{Deserialize, Serialize};

use rawko_model::ToolSpec;
use rawko_model::provider::{OutputSchema, ReasoningEffort};
use rawko_tools::Grant;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct AgentSession {
    pub(super) agent: String,
    /// `provider/model`, or a chain of them: `a, b`. Empty for the default.
    pub(super) model: String,
    /// The place that names the model, for messages.
    #[serde(default)]
    pub(super) model_from: String,
    pub(super) vision_model: Option<String>,
    /// How much the model thinks; `None` leaves it to the service.
    #[serde(default)]
    pub(super) reasoning: Option<ReasoningEffort>,
    pub(super) system: String,
    pub(super) tools: Vec<ToolSpec>,
    pub(super) grant: Grant,
    /// True if rules on single calls apply, so that each call is decided on before it is made.
    #[serde(default)]
    pub(super) guarded: bool,
    /// True if hooks decide whether the agent may end its turn.
    #[serde(default)]
    pub(super) stop_hooks: bool,
    #[serde(rename = "loop")]
    pub(super) loops: Value,
    pub(super) schema: Option<OutputSchema>,
    pub(super) output_tokens_max: Option<u32>,
    /// Prompt size, in tokens, above which it is compacted.
    pub(super) size_max: u64,
    pub(super) completions_max: u64,
    pub(super) retries_max: u64,
    pub(super) challenges_max: u64,
    pub(super) continuations_max: u64,
    pub(super) compactions_max: u64,
    pub(super) depth_max: u64,
    /// Tool calls and sub-agents of one completion that run at the same time.
    #[serde(default = "one")]
    pub(super) parallel: u64,
    /// The phase of sub-agents.
    pub(super) helper_phase: Option<String>,
}

/// A session from before calls ran at the same time.
fn one() -> u64 {
    1
}
