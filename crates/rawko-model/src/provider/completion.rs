//! One completion: what is asked, what is heard while it comes, and what it was.

use rawko_core::Value;
use serde::{Deserialize, Serialize};

use crate::message::{Message, StopReason, ToolSpec, Usage};

/// All that the model sees, and how it is to answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CompletionRequest {
    /// As the provider knows it, without the provider's name.
    pub model: String,
    pub system: String,
    pub messages: Vec<Message>,
    pub tools: Vec<ToolSpec>,
    /// The answer is to be JSON of this shape.
    pub schema: Option<OutputSchema>,
    pub output_tokens_max: Option<u32>,
    pub temperature: Option<f64>,
    /// The same for a request that is made again after a crash.
    pub idempotency: String,
    /// Who asks. Like the two below it never reaches a model: scripts and people who look on go by it.
    #[serde(default)]
    pub agent: String,
    /// In which piece of work: `plan_build/implement#2`.
    #[serde(default)]
    pub occasion: String,
    /// How often this very completion was tried before and failed.
    #[serde(default)]
    pub attempt: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputSchema {
    pub name: String,
    pub schema: Value,
}

/// What is heard of a completion while it comes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamEvent {
    TextDelta { text: String },
    ToolUseStart { id: String, name: String },
    ToolUseInput { id: String, json: String },
    ToolUseEnd { id: String, name: String },
    MessageDone { usage: Usage, stop_reason: StopReason },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    pub message: Message,
    pub stop_reason: StopReason,
    pub usage: Usage,
    /// The structured answer, checked against the schema, if one was asked for.
    pub data: Option<Value>,
    /// The model that answered, as it calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}
