//! Token estimates: bytes / 4. Separate from usage, which a provider counts: this is for text that has not been
//! counted.

use crate::message::{Message, MessagePart, ToolSpec};
use crate::provider::CompletionRequest;

const BYTES_PER_TOKEN: u64 = 4;
/// Services scale images down to about this many tokens.
const IMAGE_TOKENS: u64 = 1500;
/// Role and separators.
const MESSAGE_TOKENS: u64 = 4;

/// Estimates the tokens of a text.
pub fn text_tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(BYTES_PER_TOKEN)
}

/// Estimates the tokens of a message, including its overhead; 0 for an empty one.
pub fn message_tokens(message: &Message) -> u64 {
    let said = said_tokens(message);
    if said == 0 { 0 } else { said + MESSAGE_TOKENS }
}

/// Excludes the message overhead: the tokens charged as output.
pub(super) fn said_tokens(message: &Message) -> u64 {
    message.parts.iter().map(part_tokens).sum()
}

/// Estimates the tokens of a conversation.
pub fn messages_tokens(messages: &[Message]) -> u64 {
    messages.iter().map(message_tokens).sum()
}

/// Estimates the complete input of the model.
pub fn request_tokens(request: &CompletionRequest) -> u64 {
    let schema = request.schema.as_ref().map_or(0, |schema| text_tokens(&schema.schema.to_string()));
    text_tokens(&request.system)
        + messages_tokens(&request.messages)
        + request.tools.iter().map(tool_tokens).sum::<u64>()
        + schema
}

fn part_tokens(part: &MessagePart) -> u64 {
    match part {
        MessagePart::Text { text } => text_tokens(text),
        MessagePart::Image { .. } | MessagePart::ImageRef { .. } => IMAGE_TOKENS,
        MessagePart::ToolUse(tool_use) => {
            text_tokens(&tool_use.name) + text_tokens(&tool_use.input.to_string())
        }
        MessagePart::ToolResult(result) => text_tokens(&result.content),
        MessagePart::Reasoning(reasoning) => {
            text_tokens(&reasoning.text) + text_tokens(reasoning.signature.as_deref().unwrap_or_default())
        }
    }
}

fn tool_tokens(spec: &ToolSpec) -> u64 {
    text_tokens(&spec.name) + text_tokens(&spec.description) + text_tokens(&spec.input_schema.to_string())
}
