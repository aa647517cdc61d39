//! What became of a tool call: what the model is told, and what the loop around it needs to know.

use rawko_core::Value;
use serde::{Deserialize, Serialize};

use crate::message::Part;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// What the model reads.
    pub content: String,
    pub is_error: bool,
    /// Why it was not run at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// Structured facts: the exit code, files changed, the new plan.
    #[serde(default)]
    pub data: Value,
    /// Images it gave back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Which rule refused, in a stable word: `tool_blocked`, `tool_not_allowed`, `path_outside`, `command_blocked`…
    pub rule: String,
    /// Where the rule stands.
    pub source: String,
}
