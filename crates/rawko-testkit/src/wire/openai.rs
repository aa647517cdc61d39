//! Chunks of an OpenAI chat completion.

use serde_json::{Value, json};

use super::{ModelAnswer, Reason, pieces};
use crate::reply::ModelReply;

/// The last event of every stream.
pub const DONE: &str = "data: [DONE]\n\n";

/// Formats one event with these choices.
pub fn chunk(choices: Value) -> String {
    let chunk = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000,
        "model": "test-model", "system_fingerprint": "fp_1", "choices": choices});
    event(&chunk)
}

/// Formats an event without a name.
pub fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// Formats a chunk with a part of the first choice.
pub fn delta(delta: Value) -> String {
    chunk(json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]))
}

/// Formats the chunk with the finish reason and an empty delta.
pub fn finish(reason: &str) -> String {
    chunk(json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": reason}]))
}

/// Formats the final chunk, without choices.
pub fn usage(input: u64, output: u64) -> String {
    event(&json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000,
        "model": "test-model", "choices": [], "usage": {"prompt_tokens": input, "completion_tokens": output,
            "total_tokens": input + output, "prompt_tokens_details": {"cached_tokens": 0}}}))
}

/// Formats a whole stream: text first, then each tool call with its input in pieces.
pub fn reply(answer: &ModelAnswer) -> ModelReply {
    let mut events = vec![delta(json!({"role": "assistant", "content": "", "refusal": null}))];
    events.extend(answer.text.iter().map(|piece| delta(json!({ "content": piece }))));
    for (index, call) in answer.calls.iter().enumerate() {
        let start = json!({"index": index, "id": call.id, "type": "function",
            "function": {"name": call.name, "arguments": ""}});
        events.push(delta(json!({"tool_calls": [start]})));
        let more = |piece| delta(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}));
        events.extend(pieces(&call.input.to_string()).into_iter().map(more));
    }
    events.push(finish(match answer.reason {
        Reason::Stop if !answer.calls.is_empty() => "tool_calls",
        Reason::Stop => "stop",
        Reason::Length => "length",
        Reason::Filter => "content_filter",
    }));
    events.push(usage(answer.input_tokens, answer.output_tokens));
    events.push(DONE.to_owned());
    ModelReply::events(events)
}
