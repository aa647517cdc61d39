//! Decodes events of a message stream. The event type is read from the data.

use serde_json::Value;

use super::ANSWER_TOOL;
use crate::message::{Reasoning, StopReason};
use crate::provider::wire::stream_state::CompletionBuilder;

/// State of the tool call that carries the structured response.
#[derive(Default)]
pub(in crate::provider::wire) struct AnswerTool {
    /// Index of its content block.
    block: Option<u64>,
    has_input: bool,
}

/// Handles one event and returns true if it was the last.
pub(in crate::provider::wire) fn handle_event(
    event: &Value,
    gathering: &mut CompletionBuilder,
    answer: &mut AnswerTool,
) -> bool {
    let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
    match text(event, "type") {
        "message_start" => {
            count(event.pointer("/message/usage"), gathering);
            // No output yet: services send 1 here.
            gathering.counted.output = 0;
        }
        "content_block_start" => {
            start_block(index, event.get("content_block").unwrap_or(&Value::Null), gathering, answer);
        }
        "content_block_delta" => {
            handle_delta(index, event.get("delta").unwrap_or(&Value::Null), gathering, answer);
        }
        "content_block_stop" if answer.block != Some(index) => gathering.close_tool(index),
        "message_delta" => {
            count(event.get("usage"), gathering);
            if let Some(reason) = event.pointer("/delta/stop_reason").and_then(Value::as_str) {
                gathering.stop = Some(stop_reason(reason, answer));
            }
        }
        "message_stop" => return true,
        // A ping, the end of the response's block, or an event type added later.
        _ => {}
    }
    false
}

fn start_block(index: u64, block: &Value, gathering: &mut CompletionBuilder, answer: &mut AnswerTool) {
    // Usually empty or absent; a server that does not stream inputs puts the whole input here.
    let whole = block.get("input").filter(|input| input.as_object().is_some_and(|map| !map.is_empty()));
    let whole = whole.map(Value::to_string).unwrap_or_default();
    match text(block, "type") {
        "text" => gathering.text(text(block, "text")),
        "thinking" => {
            let signature = Some(text(block, "signature").to_owned()).filter(|it| !it.is_empty());
            let text = text(block, "thinking").to_owned();
            gathering.new_reasoning(Reasoning { text, signature, ..Reasoning::default() });
        }
        "redacted_thinking" => {
            let signature = Some(text(block, "data").to_owned());
            gathering.new_reasoning(Reasoning { signature, is_redacted: true, ..Reasoning::default() });
        }
        "tool_use" if text(block, "name") == ANSWER_TOOL => {
            *answer = AnswerTool { block: Some(index), has_input: !whole.is_empty() };
            if !gathering.is_empty() {
                gathering.text("\n");
            }
            gathering.text(&whole);
        }
        "tool_use" => gathering.tool(index, text(block, "id"), text(block, "name"), &whole),
        _ => {}
    }
}

fn handle_delta(index: u64, delta: &Value, gathering: &mut CompletionBuilder, answer: &AnswerTool) {
    let piece = text(delta, "partial_json");
    match text(delta, "type") {
        "text_delta" => gathering.text(text(delta, "text")),
        "thinking_delta" => gathering.reasoning(text(delta, "thinking")),
        "signature_delta" => gathering.edit_reasoning(|reasoning| {
            reasoning.signature.get_or_insert_default().push_str(text(delta, "signature"));
        }),
        "citations_delta" => {
            let citation = delta.get("citation").unwrap_or(&Value::Null);
            gathering.source(text(citation, "title"), text(citation, "url"));
        }
        "input_json_delta" if answer.block == Some(index) && answer.has_input => {}
        "input_json_delta" if answer.block == Some(index) => gathering.text(piece),
        // The input of the service's own search has no open tool use.
        "input_json_delta" if !gathering.has_tool(index) => {}
        "input_json_delta" => gathering.tool(index, "", "", piece),
        _ => {}
    }
}

fn stop_reason(reason: &str, answer: &AnswerTool) -> StopReason {
    match reason {
        "end_turn" | "stop_sequence" => StopReason::Stop,
        // If other tools were called too, `finish` gives them precedence.
        "tool_use" if answer.block.is_some() => StopReason::Stop,
        "tool_use" => StopReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "refusal" => StopReason::ContentFilter,
        _ => StopReason::Other,
    }
}

/// Records token counts. They arrive at the start, at the end or both, and a zero means that the count is not known
/// yet.
fn count(usage: Option<&Value>, gathering: &mut CompletionBuilder) {
    let number = |key: &str| usage.and_then(|usage| usage.get(key)).and_then(Value::as_u64).unwrap_or(0);
    let (cached, written) = (number("cache_read_input_tokens"), number("cache_creation_input_tokens"));
    let input = number("input_tokens") + cached + written;
    let counted = &mut gathering.counted;
    if input > 0 {
        (counted.input, counted.cached, counted.written) = (input, cached, written);
    }
    if number("output_tokens") > 0 {
        counted.output = number("output_tokens");
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
