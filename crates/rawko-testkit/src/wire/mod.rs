//! Responses in the wire formats of model services, written from their documentation and from recorded responses.

pub mod anthropic;
pub mod gemini;
pub mod ollama;
pub mod openai;
pub mod responses;

use serde_json::Value;

use crate::reply::Reply;

/// Response of a model, independent of the format.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Text chunks, as streamed.
    pub text: Vec<String>,
    pub calls: Vec<Call>,
    pub reason: Reason,
    pub input_tokens: u64,
    pub output_tokens: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub input: Value,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reason {
    #[default]
    Stop,
    Length,
    Filter,
}

impl Answer {
    pub fn text(pieces: &[&str]) -> Self {
        let text = pieces.iter().map(|piece| (*piece).to_owned()).collect();
        Self { text, input_tokens: 11, output_tokens: 7, ..Self::default() }
    }

    #[must_use]
    pub fn call(mut self, id: &str, name: &str, input: Value) -> Self {
        self.calls.push(Call { id: id.to_owned(), name: name.to_owned(), input });
        self
    }

    #[must_use]
    pub fn because(self, reason: Reason) -> Self {
        Self { reason, ..self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    OpenAi,
    Anthropic,
    Gemini,
    Ollama,
    Responses,
}

impl Format {
    pub const ALL: [Format; 5] =
        [Format::OpenAi, Format::Anthropic, Format::Gemini, Format::Ollama, Format::Responses];

    /// Formats the whole response as the service streams it.
    pub fn reply(self, answer: &Answer) -> Reply {
        match self {
            Format::OpenAi => openai::reply(answer),
            Format::Anthropic => anthropic::reply(answer),
            Format::Gemini => gemini::reply(answer),
            Format::Ollama => ollama::reply(answer),
            Format::Responses => responses::reply(answer),
        }
    }

    /// Formats an error of the service.
    pub fn failure(self, status: u16, kind: &str, message: &str) -> Reply {
        let body = match self {
            Format::OpenAi | Format::Responses => {
                serde_json::json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
            }
            Format::Anthropic => {
                serde_json::json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})
            }
            Format::Gemini => {
                serde_json::json!({"error": {"code": status, "message": message, "status": kind}})
            }
            Format::Ollama => serde_json::json!({ "error": message }),
        };
        Reply::json(status, &body)
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
