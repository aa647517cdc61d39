//! Decodes chunks of generated content.

use serde_json::Value;

use crate::message::{Reasoning, StopReason};
use crate::provider::wire::stream_state::{CompletionBuilder, TokenCounts};

pub(in crate::provider::wire) fn handle_chunk(chunk: &Value, gathering: &mut CompletionBuilder) {
    if let Some(usage) = chunk.get("usageMetadata") {
        gathering.counted = counted(usage);
    }
    if chunk.pointer("/promptFeedback/blockReason").is_some() {
        gathering.stop = Some(StopReason::ContentFilter);
    }
    let Some(candidate) = chunk.pointer("/candidates/0") else { return };
    for part in candidate.pointer("/content/parts").and_then(Value::as_array).into_iter().flatten() {
        handle_part(part, gathering);
    }
    let chunks = candidate.pointer("/groundingMetadata/groundingChunks").and_then(Value::as_array);
    for web in chunks.into_iter().flatten().filter_map(|chunk| chunk.get("web")) {
        let text = |key: &str| web.get(key).and_then(Value::as_str).unwrap_or_default();
        gathering.source(text("title"), text("uri"));
    }
    if let Some(reason) = candidate.get("finishReason").and_then(Value::as_str) {
        gathering.stop = Some(stop_reason(reason));
    }
}

/// Handles a part. Calls arrive whole, one per part. A signature belongs to the call after it; the signature of a text
/// follows the text, because it arrives with the last piece.
fn handle_part(part: &Value, gathering: &mut CompletionBuilder) {
    let said = part.get("text").and_then(Value::as_str).unwrap_or_default();
    if part.get("thought").and_then(Value::as_bool) == Some(true) {
        return gathering.reasoning(said);
    }
    gathering.text(said);
    if let Some(signature) = part.get("thoughtSignature").and_then(Value::as_str) {
        let signature = Some(signature.to_owned());
        gathering.new_reasoning(Reasoning { signature, ..Reasoning::default() });
    }
    let Some(call) = part.get("functionCall") else { return };
    let text = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
    let input = call.get("args").filter(|args| !args.is_null()).map(Value::to_string);
    gathering.whole_tool(text("id"), text("name"), &input.unwrap_or_default());
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "STOP" => StopReason::Stop,
        "MAX_TOKENS" => StopReason::Length,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY"
        | "LANGUAGE" => StopReason::ContentFilter,
        _ => StopReason::Other,
    }
}

fn counted(usage: &Value) -> TokenCounts {
    let number = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
    TokenCounts {
        input: number("promptTokenCount"),
        cached: number("cachedContentTokenCount"),
        written: 0,
        output: number("candidatesTokenCount") + number("thoughtsTokenCount"),
        reasoning: number("thoughtsTokenCount"),
    }
}
