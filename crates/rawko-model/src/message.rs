//! The parts of a conversation with a model, in one form for all providers. Plain data: it is stored in the journal,
//! and a session is reopened from it.

use rawko_core::Value;
use rawko_instance::content;
use serde::{Deserialize, Serialize};

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A person or the program that calls the model; tool results have this role too.
    User,
    /// The model.
    Assistant,
}

/// One message: text, images, tool calls and tool results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Author of all parts.
    pub role: Role,
    /// Parts in the order of the conversation.
    pub parts: Vec<MessagePart>,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MessagePart {
    /// Text.
    Text {
        /// Content; never empty in a request.
        text: String,
    },
    /// An image with its data.
    Image {
        /// `image/png` and the like.
        media_type: String,
        /// Base64.
        data: String,
    },
    /// An image whose data is kept apart, by content. Conversations in charts hold these; requests to models never do.
    ImageRef {
        /// MIME type, such as `image/png`.
        media_type: String,
        /// The name of the data in the store (`rawko_instance::content`).
        hash: String,
        /// Of the data as Base64.
        bytes: u64,
    },
    /// The model asks for a tool. Only in an assistant's message.
    ToolUse(ToolUse),
    /// The result of a tool. Only in a user's message.
    ToolResult(ToolResult),
    /// Thoughts of a model before its response. Only in an assistant's message, and never part of the answer.
    Reasoning(Reasoning),
}

/// Thoughts of a model. Services that sign or encrypt them require them back unchanged, and reject those of others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reasoning {
    /// A summary, or the thoughts themselves. Empty if the service only sends a signature.
    pub text: String,
    /// `provider/model` that produced it; requests to any other omit it.
    #[serde(default)]
    pub origin: String,
    /// Signature or encrypted content. It belongs to the part after it, if the service signs parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Item id of OpenAI's responses, or the field that held the text in chat completions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// True if the service withholds the text; `signature` is its encrypted form.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_redacted: bool,
}

/// A tool call of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolUse {
    /// Id that the result refers to; chosen by the provider.
    pub id: String,
    /// Tool name as sent in [`ToolSpec`].
    pub name: String,
    /// Arguments, not yet validated.
    pub input: Value,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Id of its `ToolUse`.
    pub id: String,
    /// Text for the model.
    pub content: String,
    /// True if the call failed.
    pub is_error: bool,
}

/// The description of a tool for a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Name by which the model calls it.
    pub name: String,
    /// Instructions for the model.
    pub description: String,
    /// A JSON Schema of the input.
    pub input_schema: Value,
}

/// The reason why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The response is complete.
    Stop,
    /// It waits for tools. Pending tool calls take precedence over the provider's stop reason.
    ToolCalls,
    /// It reached the limit of output tokens.
    Length,
    /// The provider withheld the response.
    ContentFilter,
    /// A reason unknown to this version.
    Other,
}

/// The usage of a completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Tokens of the response.
    pub output_tokens: u64,
    /// Input read from the provider's cache, included in `input_tokens`.
    pub cached_tokens: u64,
    /// Input written to the provider's cache, included in `input_tokens`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Output spent on reasoning, included in `output_tokens`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
    /// True if it is an estimate (bytes / 4) rather than a count of the provider.
    pub is_estimate: bool,
    /// Cost in US dollars; `None` if the model has no known price.
    pub cost_usd: Option<f64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// Adds both; the cost only if both are known.
    #[must_use]
    pub fn plus(self, other: Usage) -> Usage {
        let nothing = |usage: &Usage| usage.input_tokens == 0 && usage.output_tokens == 0;
        let cost_usd = match (self.cost_usd, other.cost_usd) {
            (Some(one), Some(another)) => Some(one + another),
            (None, cost) if nothing(&self) => cost,
            (cost, None) if nothing(&other) => cost,
            (_, _) => None,
        };
        Usage {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cached_tokens: self.cached_tokens.saturating_add(other.cached_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
            reasoning_tokens: self.reasoning_tokens.saturating_add(other.reasoning_tokens),
            is_estimate: self.is_estimate || other.is_estimate,
            cost_usd,
        }
    }
}

impl MessagePart {
    /// The name of an image: the same wherever its data is. `None` for everything else.
    pub(crate) fn image_hash(&self) -> Option<String> {
        match self {
            MessagePart::Image { data, .. } => Some(content::hex(&content::text_name(data))),
            MessagePart::ImageRef { hash, .. } => Some(hash.clone()),
            MessagePart::Text { .. }
            | MessagePart::ToolUse(_)
            | MessagePart::ToolResult(_)
            | MessagePart::Reasoning(_) => None,
        }
    }
}

impl Message {
    /// Creates a message with one text part.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self { role, parts: vec![MessagePart::Text { text: text.into() }] }
    }

    /// Iterates over the tool calls of the message.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUse> {
        self.parts.iter().filter_map(|part| match part {
            MessagePart::ToolUse(tool_use) => Some(tool_use),
            MessagePart::Text { .. }
            | MessagePart::Image { .. }
            | MessagePart::ImageRef { .. }
            | MessagePart::ToolResult(_)
            | MessagePart::Reasoning(_) => None,
        })
    }
}
