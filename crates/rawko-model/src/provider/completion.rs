//! One completion: its request, its stream events and its result.

use rawko_core::Value;
use serde::{Deserialize, Serialize};

use super::reasoning::ReasoningEffort;
use crate::message::{Message, StopReason, ToolSpec, Usage};

/// Everything the model receives, and the required format of its response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CompletionRequest {
    /// The provider's name of the model, without the name of the provider.
    pub model: String,
    pub system: String,
    pub messages: Vec<Message>,
    pub tools: Vec<ToolSpec>,
    /// The response must be JSON of this shape.
    pub schema: Option<OutputSchema>,
    pub output_tokens_max: Option<u32>,
    pub temperature: Option<f64>,
    /// How much the model should think, for models that can. `None` leaves it to the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<ReasoningEffort>,
    /// The service searches the web itself to answer. Its sources follow the text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub search: bool,
    /// Idempotency key; unchanged when a request is repeated after a crash.
    pub idempotency: String,
    /// The agent that makes the request. This field and the two below never reach a model: scripts and observers use
    /// them.
    #[serde(default)]
    pub agent: String,
    /// The phase or step the request belongs to: `plan_build/implement#2`.
    #[serde(default)]
    pub occasion: String,
    /// The number of failed attempts at this completion so far.
    #[serde(default)]
    pub attempt: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputSchema {
    pub name: String,
    pub schema: Value,
}

/// An event of a completion stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamEvent {
    TextDelta {
        text: String,
    },
    /// A piece of the model's thoughts. Never part of the answer.
    ReasoningDelta {
        text: String,
    },
    ToolUseStart {
        id: String,
        name: String,
    },
    ToolUseInput {
        id: String,
        json: String,
    },
    ToolUseEnd {
        id: String,
        name: String,
    },
    MessageDone {
        usage: Usage,
        stop_reason: StopReason,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    pub message: Message,
    pub stop_reason: StopReason,
    pub usage: Usage,
    /// The structured response, validated against the schema, if one was requested.
    pub data: Option<Value>,
    /// The model that responded, by its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}
