//! Events of an Anthropic message stream.

use serde_json::{Value, json};

use super::{ModelAnswer, Reason, pieces};
use crate::reply::ModelReply;

/// Formats an event; its name is also in the data.
pub fn event(data: &Value) -> String {
    let name = data.get("type").and_then(Value::as_str).unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

/// Formats `message_start`, with an empty message and the usage of the prompt.
pub fn start(input_tokens: u64) -> String {
    let usage = json!({"input_tokens": input_tokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
        "output_tokens": 1});
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "test-model", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage});
    event(&json!({"type": "message_start", "message": message}))
}

/// Formats `content_block_start` with an empty text or tool call.
pub fn block_start(index: usize, block: Value) -> String {
    event(&json!({"type": "content_block_start", "index": index, "content_block": block}))
}

/// Formats `content_block_delta`.
pub fn block_delta(index: usize, delta: Value) -> String {
    event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
}

/// Formats `content_block_stop`.
pub fn block_stop(index: usize) -> String {
    event(&json!({"type": "content_block_stop", "index": index}))
}

/// Formats `message_delta` with the stop reason and the output usage.
pub fn end(reason: &str, output_tokens: u64) -> String {
    event(&json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
        "usage": {"output_tokens": output_tokens}}))
}

/// Formats `message_stop`, the last event.
pub fn stop() -> String {
    event(&json!({"type": "message_stop"}))
}

/// Formats `ping`, which may occur anywhere in a stream.
pub fn ping() -> String {
    event(&json!({"type": "ping"}))
}

/// Formats a whole stream: text first, then each tool call with its input in pieces.
pub fn reply(answer: &ModelAnswer) -> ModelReply {
    let mut events = vec![start(answer.input_tokens), ping()];
    let first_call = usize::from(!answer.text.is_empty());
    if !answer.text.is_empty() {
        events.push(block_start(0, json!({"type": "text", "text": ""})));
        events.extend(
            answer.text.iter().map(|piece| block_delta(0, json!({"type": "text_delta", "text": piece}))),
        );
        events.push(block_stop(0));
    }
    for (index, call) in answer.calls.iter().enumerate().map(|(number, call)| (number + first_call, call)) {
        let block = json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}});
        events.push(block_start(index, block));
        let more = |piece| block_delta(index, json!({"type": "input_json_delta", "partial_json": piece}));
        events.push(more(""));
        events.extend(pieces(&call.input.to_string()).into_iter().map(more));
        events.push(block_stop(index));
    }
    events.push(end(reason(answer), answer.output_tokens));
    events.push(stop());
    ModelReply::events(events)
}

fn reason(answer: &ModelAnswer) -> &'static str {
    match answer.reason {
        Reason::Stop if !answer.calls.is_empty() => "tool_use",
        Reason::Stop => "end_turn",
        Reason::Length => "max_tokens",
        Reason::Filter => "refusal",
    }
}
