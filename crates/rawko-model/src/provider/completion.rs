//! One completion: its request, its stream events and its result.

use std::sync::Arc;

use rawko_core::Value;
use serde::{Deserialize, Serialize};

use super::reasoning::ReasoningEffort;
use crate::message::{Message, StopReason, ToolSpec, Usage};

/// Everything the model receives, and the required format of its response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CompletionRequest {
    /// The provider's name of the model, without the name of the provider.
    pub model: String,
    /// System prompt; empty sends none.
    pub system: String,
    /// The conversation, oldest message first. Shared, so that a long one is not copied for each completion.
    pub messages: Arc<Vec<Message>>,
    /// Tools that the model may call.
    pub tools: Vec<ToolSpec>,
    /// The response must be JSON of this shape.
    pub schema: Option<OutputSchema>,
    /// Limit on output tokens; the provider's default if omitted.
    pub output_tokens_max: Option<u32>,
    /// Sampling temperature; the provider's default if omitted.
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

/// The required shape of a response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputSchema {
    /// Name that some providers require.
    pub name: String,
    /// JSON Schema.
    pub schema: Value,
}

/// An event of a completion stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamEvent {
    /// A piece of the answer.
    TextDelta {
        /// Text to append.
        text: String,
    },
    /// A piece of the model's thoughts. Never part of the answer.
    ReasoningDelta {
        /// Text to append.
        text: String,
    },
    /// A tool call begins.
    ToolUseStart {
        /// Id of the call.
        id: String,
        /// Tool name.
        name: String,
    },
    /// A piece of a tool call's arguments.
    ToolUseInput {
        /// Id of the call.
        id: String,
        /// Piece of JSON text to append.
        json: String,
    },
    /// A tool call is complete.
    ToolUseEnd {
        /// Id of the call.
        id: String,
        /// Tool name.
        name: String,
    },
    /// The response is complete.
    MessageDone {
        /// Usage of the completion.
        usage: Usage,
        /// Reason why the model stopped.
        stop_reason: StopReason,
    },
}

/// A response of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// The message, with role [`Role::Assistant`](crate::Role::Assistant).
    pub message: Message,
    /// Reason why the model stopped.
    pub stop_reason: StopReason,
    /// Usage, counted by the provider or estimated.
    pub usage: Usage,
    /// The structured response, validated against the schema, if one was requested.
    pub data: Option<Value>,
    /// The model that responded, by its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}
