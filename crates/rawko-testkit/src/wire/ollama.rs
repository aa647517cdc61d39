//! Lines of an Ollama chat.

use serde_json::{Value, json};

use super::{ModelAnswer, Reason};
use crate::reply::ModelReply;

/// Formats one line that is not the last.
pub fn line(message: Value) -> String {
    let line = json!({"model": "test-model", "created_at": "2025-01-01T00:00:00Z", "message": message, "done": false});
    format!("{line}\n")
}

/// Formats the last line: finish reason and usage.
pub fn end(reason: &str, input: u64, output: u64) -> String {
    let line = json!({"model": "test-model", "created_at": "2025-01-01T00:00:01Z",
        "message": {"role": "assistant", "content": ""}, "done_reason": reason, "done": true, "total_duration": 5,
        "load_duration": 1, "prompt_eval_count": input, "prompt_eval_duration": 1, "eval_count": output,
        "eval_duration": 1});
    format!("{line}\n")
}

/// Formats a whole stream: text first, then one line per tool call.
pub fn reply(answer: &ModelAnswer) -> ModelReply {
    let text = |piece: &String| line(json!({"role": "assistant", "content": piece}));
    let mut lines: Vec<String> = answer.text.iter().map(text).collect();
    let call = |call: &super::ModelToolCall| {
        let function = json!({"name": call.name, "arguments": call.input});
        line(json!({"role": "assistant", "content": "", "tool_calls": [{"function": function}]}))
    };
    lines.extend(answer.calls.iter().map(call));
    let reason = match answer.reason {
        Reason::Stop | Reason::Filter => "stop",
        Reason::Length => "length",
    };
    lines.push(end(reason, answer.input_tokens, answer.output_tokens));
    ModelReply::lines(lines)
}
