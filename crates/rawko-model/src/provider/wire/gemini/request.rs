//! Builds a request for `generateContent`.

use serde_json::{Map, Value, json};

use super::schema::reduced;
use crate::message::{Message, MessagePart, Role, ToolResult, ToolSpec, ToolUse};
use crate::provider::wire::{ordered, system_with_schema, tool_input, tool_name};
use crate::provider::{CompletionRequest, EffortLevel, OutputSchema, ReasoningEffort};

/// Newer models reject function calls without the signature of the thoughts behind them. The service defines this value
/// for calls of another model, and for those whose signature is gone.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

pub(in crate::provider::wire) fn body(request: &CompletionRequest) -> Value {
    let (as_format, in_words) = schema_places(request);
    let mut body = Map::new();
    let system = system_with_schema(&request.system, in_words);
    if !system.is_empty() {
        body.insert("systemInstruction".into(), json!({"parts": [{"text": system}]}));
    }
    body.insert("contents".into(), contents(request).into());
    if !request.tools.is_empty() {
        let functions: Vec<Value> = request.tools.iter().map(function).collect();
        body.insert("tools".into(), json!([{"functionDeclarations": functions}]));
    } else if request.search {
        body.insert("tools".into(), json!([{"google_search": {}}]));
    }
    let settings = generation_settings(request, as_format);
    if !settings.is_empty() {
        body.insert("generationConfig".into(), settings.into());
    }
    body.into()
}

/// Most models reject a response schema together with functions: then the schema goes into the prompt.
fn schema_places(request: &CompletionRequest) -> (Option<&OutputSchema>, Option<&OutputSchema>) {
    let schema = request.schema.as_ref();
    if request.tools.is_empty() { (schema, None) } else { (None, schema) }
}

fn generation_settings(request: &CompletionRequest, schema: Option<&OutputSchema>) -> Map<String, Value> {
    let mut settings = Map::new();
    if let Some(schema) = schema {
        settings.insert("responseMimeType".into(), "application/json".into());
        settings.insert("responseSchema".into(), reduced(&schema.schema.to_json()));
    }
    if let Some(effort) = request.reasoning {
        settings.insert("thinkingConfig".into(), thinking(effort, &request.model));
    }
    if let Some(limit) = request.output_tokens_max {
        settings.insert("maxOutputTokens".into(), limit.into());
    }
    if let Some(temperature) = request.temperature {
        settings.insert("temperature".into(), temperature.into());
    }
    settings
}

/// The second generation takes a budget, later ones take a level; the first level-based model has no medium.
fn thinking(effort: ReasoningEffort, model: &str) -> Value {
    if !is_third_generation(model) {
        return json!({"includeThoughts": true, "thinkingBudget": effort.tokens()});
    }
    let level = match effort.level() {
        EffortLevel::Medium if model.starts_with("gemini-3-pro") => EffortLevel::High,
        level => level,
    };
    json!({"includeThoughts": true, "thinkingLevel": level.as_str()})
}

/// Consecutive messages of one role are merged: the service matches results against the preceding calls.
fn contents(request: &CompletionRequest) -> Vec<Value> {
    let mut joined: Vec<(Role, Vec<Value>)> = Vec::new();
    for (at, message) in request.messages.iter().enumerate() {
        let parts = parts(message, &request.messages[..at], &request.model);
        match joined.last_mut() {
            _ if parts.is_empty() => {}
            Some((role, said)) if *role == message.role => said.extend(parts),
            Some(_) | None => joined.push((message.role, parts)),
        }
    }
    let role = |role| match role {
        Role::User => "user",
        Role::Assistant => "model",
    };
    joined.into_iter().map(|(who, parts)| json!({"role": role(who), "parts": parts})).collect()
}

fn parts(message: &Message, before: &[Message], model: &str) -> Vec<Value> {
    let mut parts: Vec<Value> = Vec::new();
    // Of parallel calls only the first is signed; calls of another model are not.
    let is_signed = message.parts.iter().any(|part| matches!(part, MessagePart::Reasoning(_)));
    let mut signature: Option<String> = None;
    for it in ordered(message) {
        if let MessagePart::Reasoning(reasoning) = it {
            parts.extend(signature.take().map(signed_nothing));
            signature.clone_from(&reasoning.signature);
            continue;
        }
        let Some(mut part) = part(it, before) else { continue };
        let is_call = matches!(it, MessagePart::ToolUse(_));
        match signature.take() {
            Some(signature) if is_call => part["thoughtSignature"] = signature.into(),
            Some(signature) => parts.push(signed_nothing(signature)),
            None if is_call && !is_signed && is_third_generation(model) => {
                part["thoughtSignature"] = NO_SIGNATURE.into();
            }
            None => {}
        }
        parts.push(part);
    }
    parts.extend(signature.map(signed_nothing));
    parts
}

/// The signature of a text, after it.
fn signed_nothing(signature: String) -> Value {
    json!({"text": "", "thoughtSignature": signature})
}

fn part(part: &MessagePart, before: &[Message]) -> Option<Value> {
    match part {
        MessagePart::Text { text } if text.is_empty() => None,
        MessagePart::Text { text } => Some(json!({"text": text})),
        MessagePart::Image { media_type, data } => {
            Some(json!({"inlineData": {"mimeType": media_type, "data": data}}))
        }
        MessagePart::ImageRef { .. } | MessagePart::Reasoning(_) => None,
        MessagePart::ToolUse(tool_use) => Some(call(tool_use)),
        MessagePart::ToolResult(result) => Some(response(result, before)),
    }
}

fn call(tool_use: &ToolUse) -> Value {
    json!({"functionCall": {"name": tool_use.name, "args": tool_input(&tool_use.input)}})
}

/// Returns true from the third generation on, and for names of the latest model.
fn is_third_generation(model: &str) -> bool {
    model.strip_prefix("gemini-").is_some_and(|rest| !rest.starts_with(['1', '2']))
}

fn response(result: &ToolResult, before: &[Message]) -> Value {
    let key = if result.is_error { "error" } else { "output" };
    json!({"functionResponse": {"name": tool_name(before, &result.id), "response": {key: result.content}}})
}

fn function(spec: &ToolSpec) -> Value {
    let mut function = json!({"name": spec.name, "description": spec.description});
    let parameters = reduced(&spec.input_schema.to_json());
    // The service rejects an object without properties.
    if parameters.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty()) {
        function["parameters"] = parameters;
    }
    function
}
