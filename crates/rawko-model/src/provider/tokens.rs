//! Token estimates: bytes / 4. Separate from usage, which a provider counts: this is for text that has not been
//! counted.

use rawko_core::Value;

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
    let schema = request.schema.as_ref().map_or(0, |schema| value_tokens(&schema.schema));
    text_tokens(&request.system)
        + messages_tokens(&request.messages)
        + request.tools.iter().map(tool_tokens).sum::<u64>()
        + schema
}

fn part_tokens(part: &MessagePart) -> u64 {
    match part {
        MessagePart::Text { text } => text_tokens(text),
        MessagePart::Image { .. } | MessagePart::ImageRef { .. } => IMAGE_TOKENS,
        MessagePart::ToolUse(tool_use) => text_tokens(&tool_use.name) + value_tokens(&tool_use.input),
        MessagePart::ToolResult(result) => text_tokens(&result.content),
        MessagePart::Reasoning(reasoning) => {
            text_tokens(&reasoning.text) + text_tokens(reasoning.signature.as_deref().unwrap_or_default())
        }
    }
}

fn tool_tokens(spec: &ToolSpec) -> u64 {
    text_tokens(&spec.name) + text_tokens(&spec.description) + value_tokens(&spec.input_schema)
}

/// Estimates the tokens of a value as text, without writing it: a conversation has one for each call.
fn value_tokens(value: &Value) -> u64 {
    let mut length = TextLength(0);
    match value {
        Value::Str(text) => return text_tokens(text),
        // Counting cannot fail, and a value is always JSON.
        other => drop(serde_json::to_writer(&mut length, other)),
    }
    length.0.div_ceil(BYTES_PER_TOKEN)
}

/// Counts the bytes of a text.
struct TextLength(u64);

impl std::io::Write for TextLength {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
