//! Responses in the wire formats of model services, written from their documentation and from recorded responses.

pub mod anthropic;
pub mod gemini;
pub mod ollama;
pub mod openai;
pub mod responses;

use serde_json::Value;

use crate::reply::ModelReply;

/// Response of a model, independent of the format.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelAnswer {
    /// Text chunks, as streamed.
    pub text: Vec<String>,
    /// Tool calls, after the text.
    pub calls: Vec<ModelToolCall>,
    /// Reason for the end; the finish reason of a format also depends on `calls`.
    pub reason: Reason,
    /// Reported size of the prompt.
    pub input_tokens: u64,
    /// Reported size of the response.
    pub output_tokens: u64,
}

/// A tool call of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelToolCall {
    /// Id of the call; Gemini and Ollama have none.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Input of the tool as JSON, usually an object.
    pub input: Value,
}

/// The reason why a model ended its response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reason {
    /// The response is complete, or waits for the results of its tool calls.
    #[default]
    Stop,
    /// The token limit was reached.
    Length,
    /// The content was filtered; Ollama reports it as `stop`.
    Filter,
}

impl ModelAnswer {
    /// Creates a response with these text chunks, 11 input tokens and 7 output tokens.
    pub fn text(pieces: &[&str]) -> Self {
        let text = pieces.iter().map(|piece| (*piece).to_owned()).collect();
        Self { text, input_tokens: 11, output_tokens: 7, ..Self::default() }
    }

    /// Adds a tool call.
    #[must_use]
    pub fn call(mut self, id: &str, name: &str, input: Value) -> Self {
        self.calls.push(ModelToolCall { id: id.to_owned(), name: name.to_owned(), input });
        self
    }

    /// Sets the reason for the end.
    #[must_use]
    pub fn because(self, reason: Reason) -> Self {
        Self { reason, ..self }
    }
}

/// The wire format of a model service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireProtocol {
    /// Chat completions as server-sent events.
    OpenAi,
    /// Messages as named server-sent events.
    Anthropic,
    /// Generated content as server-sent events.
    Gemini,
    /// Chats as JSON lines.
    Ollama,
    /// Responses API of OpenAI.
    Responses,
}

impl WireProtocol {
    /// All formats, for tests that run once for each.
    pub const ALL: [WireProtocol; 5] = [
        WireProtocol::OpenAi,
        WireProtocol::Anthropic,
        WireProtocol::Gemini,
        WireProtocol::Ollama,
        WireProtocol::Responses,
    ];

    /// Formats the whole response as the service streams it.
    pub fn reply(self, answer: &ModelAnswer) -> ModelReply {
        match self {
            WireProtocol::OpenAi => openai::reply(answer),
            WireProtocol::Anthropic => anthropic::reply(answer),
            WireProtocol::Gemini => gemini::reply(answer),
            WireProtocol::Ollama => ollama::reply(answer),
            WireProtocol::Responses => responses::reply(answer),
        }
    }

    /// Formats an error of the service.
    pub fn failure(self, status: u16, kind: &str, message: &str) -> ModelReply {
        let body = match self {
            WireProtocol::OpenAi | WireProtocol::Responses => {
                serde_json::json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
            }
            WireProtocol::Anthropic => {
                serde_json::json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})
            }
            WireProtocol::Gemini => {
                serde_json::json!({"error": {"code": status, "message": message, "status": kind}})
            }
            WireProtocol::Ollama => serde_json::json!({ "error": message }),
        };
        ModelReply::json(status, &body)
    }
}

/// Splits text into chunks of a few bytes at character boundaries, as tool inputs are streamed.
fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(3.min(rest.len())));
        pieces.push(piece);
        rest = after;
    }
    pieces
}
