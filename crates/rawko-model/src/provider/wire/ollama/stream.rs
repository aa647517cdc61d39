//! Decodes lines of a chat response.

use serde_json::Value;

use crate::message::StopReason;
use crate::provider::wire::stream_state::{CompletionBuilder, TokenCounts};

/// Handles one line and returns true if it was the last.
pub(in crate::provider::wire) fn handle_chunk(chunk: &Value, gathering: &mut CompletionBuilder) -> bool {
    let message = chunk.get("message").unwrap_or(&Value::Null);
    gathering.reasoning(message.get("thinking").and_then(Value::as_str).unwrap_or_default());
    gathering.text(message.get("content").and_then(Value::as_str).unwrap_or_default());
    for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        handle_call(call, gathering);
    }
    let is_done = chunk.get("done").and_then(Value::as_bool) == Some(true);
    if is_done {
        gathering.stop = Some(stop_reason(chunk.get("done_reason").and_then(Value::as_str)));
        gathering.counted = counted(chunk);
    }
    is_done
}

fn handle_call(call: &Value, gathering: &mut CompletionBuilder) {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let input = match call.pointer("/function/arguments") {
        Some(Value::String(json)) => json.clone(),
        Some(Value::Null) | None => String::new(),
        Some(whole) => whole.to_string(),
    };
    gathering.whole_tool(&text(call.get("id")), &text(call.pointer("/function/name")), &input);
}

/// Older servers send no stop reason; they only stopped when the response was complete.
fn stop_reason(reason: Option<&str>) -> StopReason {
    match reason {
        Some("stop") | None => StopReason::Stop,
        Some("length") => StopReason::Length,
        Some(_) => StopReason::Other,
    }
}

fn counted(chunk: &Value) -> TokenCounts {
    let number = |key: &str| chunk.get(key).and_then(Value::as_u64).unwrap_or(0);
    TokenCounts { input: number("prompt_eval_count"), output: number("eval_count"), ..TokenCounts::default() }
}
