//! `Session`: an agent's file, its phase and its tools as they were when it began. Frozen, so that a piece of work goes on
//! after a restart as it began, whatever was edited meanwhile.

use rawko_core::Value;
use serde::{Deserialize, Serialize};

use rawko_model::ToolSpec;
use rawko_model::provider::OutputSchema;
use rawko_tools::Grant;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Session {
    pub(super) agent: String,
    /// `provider/model`.
    pub(super) model: String,
    pub(super) vision_model: Option<String>,
    pub(super) system: String,
    pub(super) tools: Vec<ToolSpec>,
    pub(super) grant: Grant,
    #[serde(rename = "loop")]
    pub(super) loops: Value,
    pub(super) schema: Option<OutputSchema>,
    pub(super) output_tokens_max: Option<u32>,
    /// Tokens of a prompt above which it is compacted.
    pub(super) size_max: u64,
    pub(super) completions_max: u64,
    pub(super) retries_max: u64,
    pub(super) challenges_max: u64,
    pub(super) continuations_max: u64,
    pub(super) compactions_max: u64,
    pub(super) depth_max: u64,
    /// The phase that sub-agents work in.
    pub(super) helper_phase: Option<String>,
}
