//! Decodes chunks of a chat completion. Compatible servers differ in everything but the text: fields are null, absent
//! or repeated, so empty values are ignored.

use serde_json::Value;

use crate::message::StopReason;
use crate::provider::wire::stream_state::{CompletionBuilder, TokenCounts};
use crate::provider::{ErrorCode, ProviderError};

pub(in crate::provider::wire) fn handle_chunk(
    chunk: &Value,
    gathering: &mut CompletionBuilder,
) -> Result<(), ProviderError> {
    if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
        gathering.counted = counted(usage);
    }
    // The usage chunk has no choices; only one choice is ever requested.
    let Some(choice) = chunk.pointer("/choices/0") else { return Ok(()) };
    let said = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null);
    // One or the other; servers in transition send both.
    let thought = ["reasoning_content", "reasoning"].into_iter().find(|field| !text(said, field).is_empty());
    if let Some(field) = thought {
        gathering.reasoning(text(said, field));
        gathering.edit_reasoning(|it| it.name = Some(field.to_owned()));
    }
    handle_content(said.get("content").unwrap_or(&Value::Null), gathering);
    gathering.text(text(said, "refusal"));
    for (position, call) in said.get("tool_calls").and_then(Value::as_array).into_iter().flatten().enumerate()
    {
        handle_call(call, position as u64, gathering);
    }
    match choice.get("finish_reason").and_then(Value::as_str).filter(|reason| !reason.is_empty()) {
        Some("network_error") => Err(ProviderError::new(
            ErrorCode::NetworkError,
            "the provider lost its own connection to the model",
        )),
        Some(reason) => {
            gathering.stop = Some(stop_reason(reason));
            Ok(())
        }
        None => Ok(()),
    }
}

/// Handles text, null, or a list of pieces.
fn handle_content(content: &Value, gathering: &mut CompletionBuilder) {
    match content {
        Value::String(said) => gathering.text(said),
        Value::Array(pieces) => pieces.iter().for_each(|piece| gathering.text(text(piece, "text"))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
    }
}

fn handle_call(call: &Value, position: u64, gathering: &mut CompletionBuilder) {
    let key = call.get("index").and_then(Value::as_u64).unwrap_or(position);
    let function = call.get("function").unwrap_or(&Value::Null);
    let arguments = match function.get("arguments") {
        Some(Value::String(piece)) => piece.clone(),
        Some(whole @ Value::Object(_)) => whole.to_string(),
        _ => String::new(),
    };
    gathering.tool(key, text(call, "id"), text(function, "name"), &arguments);
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "stop" => StopReason::Stop,
        "tool_calls" | "function_call" => StopReason::ToolCalls,
        "length" | "model_context_window_exceeded" => StopReason::Length,
        "content_filter" | "sensitive" => StopReason::ContentFilter,
        _ => StopReason::Other,
    }
}

fn counted(usage: &Value) -> TokenCounts {
    let number = |path: &str| usage.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    TokenCounts {
        input: number("/prompt_tokens"),
        // DeepSeek's name after OpenAI's.
        cached: number("/prompt_tokens_details/cached_tokens").max(number("/prompt_cache_hit_tokens")),
        written: number("/prompt_tokens_details/cache_write_tokens"),
        output: number("/completion_tokens"),
        reasoning: number("/completion_tokens_details/reasoning_tokens"),
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
