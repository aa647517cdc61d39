//! Wire formats as pure functions: a request into JSON, and the bytes of a response into stream events. One folder for
//! each dialect; shared parts (lines, events, accumulation) are beside them.

mod anthropic;
mod decoder;
mod gemini;
mod lines;
mod ollama;
mod openai;
mod progress;
mod responses;
mod scripted_response;
mod sse;
mod stream_state;

pub use decoder::{BodyEnd, Decoder};
pub use openai::{OpenAiTraits, ReasoningReturn, SchemaSupport};
pub(super) use scripted_response::ScriptedResponse;

use crate::message::{Message, MessagePart};
use crate::provider::{CompletionRequest, OutputSchema};

/// The wire format of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Chat completions of OpenAI and compatible services.
    OpenAi(OpenAiTraits),
    /// OpenAI's responses: the format that keeps a model's reasoning between tool calls.
    Responses,
    /// Anthropic's messages API.
    Anthropic,
    /// Google's `generateContent`.
    Gemini,
    /// Its own format, not the compatible one: only that supports response schemas and the context size.
    Ollama,
}

impl Dialect {
    /// Returns the body of a request. `context_tokens` is for servers that require the context size.
    pub fn body(self, request: &CompletionRequest, context_tokens: Option<u32>) -> serde_json::Value {
        match self {
            Dialect::OpenAi(traits) => openai::body(request, traits),
            Dialect::Responses => responses::body(request),
            Dialect::Anthropic => anthropic::body(request),
            Dialect::Gemini => gemini::body(request),
            Dialect::Ollama => ollama::body(request, context_tokens),
        }
    }

    /// Returns true if the service searches the web itself.
    pub fn can_search(self) -> bool {
        match self {
            Dialect::Responses | Dialect::Anthropic | Dialect::Gemini => true,
            Dialect::OpenAi(_) | Dialect::Ollama => false,
        }
    }

    /// Returns the path of a request under the base URL.
    pub fn path(self, model: &str) -> String {
        match self {
            Dialect::OpenAi(_) => "chat/completions".to_owned(),
            Dialect::Responses => "responses".to_owned(),
            Dialect::Anthropic => "v1/messages".to_owned(),
            Dialect::Gemini => format!("v1beta/models/{model}:streamGenerateContent?alt=sse"),
            Dialect::Ollama => "api/chat".to_owned(),
        }
    }
}

/// Returns the system prompt with the schema as text, for models without schema support.
fn system_with_schema(system: &str, schema: Option<&OutputSchema>) -> String {
    let Some(schema) = schema else { return system.to_owned() };
    let shape = schema.schema.to_json();
    let words = format!(
        "When you give your answer, it is one JSON value that fits this JSON Schema, with nothing before or after \
         it:\n{shape}"
    );
    if system.is_empty() { words } else { format!("{system}\n\n{words}") }
}

/// If only objects can be requested, wraps other schemas as `{answer: …}`.
fn object_schema(schema: &OutputSchema) -> serde_json::Value {
    let shape = schema.schema.to_json();
    let is_object = shape.get("type").and_then(serde_json::Value::as_str) == Some("object");
    if is_object {
        return shape;
    }
    let properties = serde_json::json!({ "answer": shape });
    serde_json::json!({"type": "object", "properties": properties, "required": ["answer"], "additionalProperties": false})
}

/// Passes an object unchanged. Anything else was malformed on arrival, and services reject it bare.
fn tool_input(input: &rawko_core::Value) -> serde_json::Value {
    let json = input.to_json();
    if json.is_object() { json } else { serde_json::json!({ "input": json }) }
}

/// Returns the tool name of a result, from the messages before it: some services match by name, not by id.
fn tool_name<'m>(before: &'m [Message], id: &str) -> &'m str {
    let mut uses = before.iter().rev().flat_map(Message::tool_uses);
    uses.find(|tool_use| tool_use.id == id).map_or("unknown", |tool_use| tool_use.name.as_str())
}

/// Results come first: services expect them right after the calls.
fn ordered(message: &Message) -> impl Iterator<Item = &MessagePart> {
    let is_result = |part: &&MessagePart| matches!(part, MessagePart::ToolResult(_));
    let results = message.parts.iter().filter(is_result);
    results.chain(message.parts.iter().filter(move |part| !is_result(part)))
}

/// Returns all text of a message.
fn joined_text(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        MessagePart::Text { text } => Some(text.as_str()),
        MessagePart::Image { .. }
        | MessagePart::ImageRef { .. }
        | MessagePart::ToolUse(_)
        | MessagePart::ToolResult(_)
        | MessagePart::Reasoning(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
