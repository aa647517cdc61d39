//! Decodes events of a response stream. Items arrive one after the other; their index is the key of a tool use.

use serde_json::Value;

use crate::message::{Reasoning, StopReason};
use crate::provider::wire::stream_state::{CompletionBuilder, TokenCounts};
use crate::provider::{ProviderError, classify};

/// Handles one event and returns true if it was the last.
pub(in crate::provider::wire) fn handle_event(
    event: &Value,
    gathering: &mut CompletionBuilder,
) -> Result<bool, ProviderError> {
    let index = number(event, "output_index");
    let item = event.get("item").unwrap_or(&Value::Null);
    match text(event, "type") {
        "response.output_item.added" => start_item(index, item, gathering),
        "response.output_item.done" => end_item(index, item, gathering),
        "response.output_text.delta" | "response.refusal.delta" => gathering.text(text(event, "delta")),
        "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
            gathering.reasoning(text(event, "delta"));
        }
        // A summary has several paragraphs.
        "response.reasoning_summary_part.added" if number(event, "summary_index") > 0 => {
            gathering.reasoning("\n\n");
        }
        "response.output_text.annotation.added" => {
            let source = event.get("annotation").unwrap_or(&Value::Null);
            gathering.source(text(source, "title"), text(source, "url"));
        }
        "response.function_call_arguments.delta" => gathering.tool(index, "", "", text(event, "delta")),
        "response.completed" | "response.incomplete" => {
            end(event.get("response").unwrap_or(&Value::Null), gathering);
            return Ok(true);
        }
        "response.failed" | "error" => {
            let failed = event.pointer("/response/error").filter(|error| !error.is_null()).unwrap_or(event);
            return Err(classify::in_stream(&serde_json::json!({ "error": failed })));
        }
        // A server that does not stream sends the response alone.
        "" => {
            let output = event.get("output").and_then(Value::as_array).into_iter().flatten();
            for (index, item) in output.enumerate() {
                whole_item(index as u64, item, gathering);
            }
            if event.get("output").is_some() {
                end(event, gathering);
                return Ok(true);
            }
        }
        _ => {}
    }
    Ok(false)
}

fn start_item(index: u64, item: &Value, gathering: &mut CompletionBuilder) {
    match text(item, "type") {
        "function_call" => gathering.tool(index, text(item, "call_id"), text(item, "name"), ""),
        "reasoning" => gathering.new_reasoning(Reasoning::default()),
        _ => {}
    }
}

fn end_item(index: u64, item: &Value, gathering: &mut CompletionBuilder) {
    match text(item, "type") {
        "function_call" => gathering.close_tool(index),
        "reasoning" => gathering.edit_reasoning(|it| {
            it.name = Some(text(item, "id").to_owned()).filter(|id| !id.is_empty());
            it.signature = Some(text(item, "encrypted_content").to_owned()).filter(|text| !text.is_empty());
        }),
        _ => {}
    }
}

fn whole_item(index: u64, item: &Value, gathering: &mut CompletionBuilder) {
    start_item(index, item, gathering);
    let pieces = |key: &str| item.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    match text(item, "type") {
        "function_call" => gathering.tool(index, "", "", text(item, "arguments")),
        "reasoning" => pieces("summary").iter().for_each(|piece| gathering.reasoning(text(piece, "text"))),
        "message" => pieces("content").iter().for_each(|piece| gathering.text(text(piece, "text"))),
        _ => {}
    }
    end_item(index, item, gathering);
}

fn end(response: &Value, gathering: &mut CompletionBuilder) {
    if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
        gathering.counted = counted(usage);
    }
    gathering.stop = Some(match response.pointer("/incomplete_details/reason").and_then(Value::as_str) {
        None => StopReason::Stop,
        Some("max_output_tokens") => StopReason::Length,
        Some("content_filter") => StopReason::ContentFilter,
        Some(_) => StopReason::Other,
    });
}

fn counted(usage: &Value) -> TokenCounts {
    let number = |path: &str| usage.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    TokenCounts {
        input: number("/input_tokens"),
        cached: number("/input_tokens_details/cached_tokens"),
        written: number("/input_tokens_details/cache_write_tokens"),
        output: number("/output_tokens"),
        reasoning: number("/output_tokens_details/reasoning_tokens"),
    }
}

fn number(event: &Value, key: &str) -> u64 {
    event.get(key).and_then(Value::as_u64).unwrap_or(0)
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
