//! Chunks of Gemini generated content. Tool calls are sent whole, and the finish reason is `STOP` even with tool calls.

use serde_json::{Value, json};

use super::{ModelAnswer, Reason};
use crate::reply::ModelReply;

/// Formats an event; lines end with CR LF, as Gemini sends them.
pub fn event(data: &Value) -> String {
    format!("data: {data}\r\n\r\n")
}

/// Formats one event with these parts.
pub fn parts(parts: Value) -> String {
    event(&json!({"candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}],
        "modelVersion": "test-model", "responseId": "r1"}))
}

/// Formats the last event: an empty text with finish reason and usage.
pub fn end(reason: &str, input: u64, output: u64) -> String {
    let usage =
        json!({"promptTokenCount": input, "candidatesTokenCount": output, "totalTokenCount": input + output});
    event(
        &json!({"candidates": [{"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": reason,
        "index": 0}], "usageMetadata": usage, "modelVersion": "test-model"}),
    )
}

/// Formats a whole stream: text first, then one event per tool call.
pub fn reply(answer: &ModelAnswer) -> ModelReply {
    let mut events: Vec<String> = answer.text.iter().map(|piece| parts(json!([{ "text": piece }]))).collect();
    let call = |call: &super::ModelToolCall| {
        parts(json!([{"functionCall": {"name": call.name, "args": call.input}}]))
    };
    events.extend(answer.calls.iter().map(call));
    let reason = match answer.reason {
        Reason::Stop => "STOP",
        Reason::Length => "MAX_TOKENS",
        Reason::Filter => "SAFETY",
    };
    events.push(end(reason, answer.input_tokens, answer.output_tokens));
    ModelReply::events(events)
}
