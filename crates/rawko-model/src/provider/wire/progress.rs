//! Decides if a stream event is a part of the response. Pings, comments and empty deltas keep a connection alive and do
//! not count; thoughts count.

use serde_json::Value;

use super::Dialect;

pub(super) fn is_progress(dialect: Dialect, event: &Value) -> bool {
    match dialect {
        Dialect::OpenAi(_) => event.pointer("/choices/0").is_some_and(|choice| {
            let delta = choice.get("delta").or_else(|| choice.get("message"));
            has_text(delta, "role") || has_text(choice.get("finish_reason"), "")
        }),
        Dialect::Responses => match event.get("type").and_then(Value::as_str) {
            Some(kind) if kind.ends_with(".delta") => has_text(event.get("delta"), ""),
            Some(
                "response.created"
                | "response.output_item.added"
                | "response.output_item.done"
                | "response.completed"
                | "response.incomplete",
            ) => true,
            Some(_) | None => false,
        },
        Dialect::Anthropic => match event.get("type").and_then(Value::as_str) {
            Some("content_block_delta" | "message_delta") => has_text(event.get("delta"), "type"),
            Some("message_start" | "content_block_start" | "content_block_stop" | "message_stop") => true,
            Some(_) | None => false,
        },
        Dialect::Gemini => {
            let parts = event.pointer("/candidates/0/content/parts");
            let ends = ["/candidates/0/finishReason", "/promptFeedback/blockReason"];
            has_text(parts, "") || ends.iter().any(|end| has_text(event.pointer(end), ""))
        }
        Dialect::Ollama => {
            event.get("done").and_then(Value::as_bool) == Some(true) || has_text(event.get("message"), "role")
        }
    }
}

/// Returns true if any nested string is not empty, ignoring the key that every event has.
fn has_text(value: Option<&Value>, constant_key: &str) -> bool {
    match value {
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => items.iter().any(|item| has_text(Some(item), constant_key)),
        Some(Value::Object(entries)) => {
            entries.iter().any(|(key, value)| key != constant_key && has_text(Some(value), constant_key))
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::from_str;

    use super::*;
    use crate::provider::wire::{OpenAiTraits, ReasoningReturn, SchemaSupport};

    #[test]
    fn only_parts_of_an_answer_are_progress() {
        let openai = Dialect::OpenAi(OpenAiTraits {
            schema: SchemaSupport::Prompt,
            is_original: false,
            reasoning: ReasoningReturn::WithTools,
        });
        let table = [
            (openai, r#"{"choices": [{"delta": {"role": "assistant", "content": ""}}]}"#, false),
            (openai, r#"{"choices": [{"delta": {}, "finish_reason": null}]}"#, false),
            (openai, r#"{"choices": [], "usage": {"completion_tokens": 1}}"#, false),
            (openai, r#"{"choices": [{"delta": {"content": "a"}}]}"#, true),
            (openai, r#"{"choices": [{"delta": {"reasoning_content": "hm"}}]}"#, true),
            (openai, r#"{"choices": [{"delta": {"tool_calls": [{"function": {"arguments": "{"}}]}}]}"#, true),
            (openai, r#"{"choices": [{"delta": {}, "finish_reason": "stop"}]}"#, true),
            (openai, r#"{"choices": [{"message": {"content": "whole"}}]}"#, true),
            (Dialect::Anthropic, r#"{"type": "ping"}"#, false),
            (Dialect::Anthropic, r#"{"type": "something_new"}"#, false),
            (
                Dialect::Anthropic,
                r#"{"type": "content_block_delta", "delta": {"type": "text_delta", "text": ""}}"#,
                false,
            ),
            (
                Dialect::Anthropic,
                r#"{"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}}"#,
                true,
            ),
            (Dialect::Anthropic, r#"{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}"#, true),
            (Dialect::Anthropic, r#"{"type": "message_start"}"#, true),
            (Dialect::Gemini, r#"{"usageMetadata": {"promptTokenCount": 3}}"#, false),
            (Dialect::Gemini, r#"{"candidates": [{"content": {"parts": [{"text": ""}]}}]}"#, false),
            (Dialect::Gemini, r#"{"candidates": [{"content": {"parts": [{"text": "a"}]}}]}"#, true),
            (
                Dialect::Gemini,
                r#"{"candidates": [{"content": {"parts": [{"functionCall": {"name": "Read"}}]}}]}"#,
                true,
            ),
            (Dialect::Gemini, r#"{"candidates": [{"finishReason": "STOP"}]}"#, true),
            (Dialect::Ollama, r#"{"message": {"role": "assistant", "content": ""}, "done": false}"#, false),
            (Dialect::Ollama, r#"{"message": {"role": "assistant", "thinking": "hm"}}"#, true),
            (Dialect::Ollama, r#"{"message": {"content": ""}, "done": true}"#, true),
        ];
        for (dialect, event, expected) in table {
            assert_eq!(is_progress(dialect, &from_str(event).unwrap()), expected, "{event}");
        }
    }
}
