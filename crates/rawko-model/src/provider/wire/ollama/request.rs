//! Builds a request for `/api/chat`.

use serde_json::{Map, Value, json};

use crate::message::{Message, MessagePart, Role, ToolSpec};
use crate::provider::CompletionRequest;
use crate::provider::wire::{joined_text, system_with_schema, tool_input, tool_name};

pub(in crate::provider::wire) fn body(request: &CompletionRequest, context_tokens: Option<u32>) -> Value {
    // A format constrains the whole response, so no tool could be called: with tools the schema goes into the prompt.
    let has_tools = !request.tools.is_empty();
    let in_words = request.schema.as_ref().filter(|_| has_tools);
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    body.insert("messages".into(), messages(request, &system_with_schema(&request.system, in_words)).into());
    body.insert("stream".into(), true.into());
    if has_tools {
        body.insert("tools".into(), request.tools.iter().map(tool).collect());
    } else if let Some(schema) = &request.schema {
        body.insert("format".into(), schema.schema.to_json());
    }
    if let Some(effort) = request.reasoning {
        // Most models only know on and off.
        let has_levels = request.model.starts_with("gpt-oss");
        let think = if has_levels { effort.level().as_str().into() } else { Value::Bool(true) };
        body.insert("think".into(), think);
    }
    let options = options(request, context_tokens);
    if !options.is_empty() {
        body.insert("options".into(), options.into());
    }
    body.into()
}

/// Without `num_ctx` the server silently drops the beginning of anything longer than its default.
fn options(request: &CompletionRequest, context_tokens: Option<u32>) -> Map<String, Value> {
    let mut options = Map::new();
    if let Some(tokens) = context_tokens {
        options.insert("num_ctx".into(), tokens.into());
    }
    if let Some(limit) = request.output_tokens_max {
        options.insert("num_predict".into(), limit.into());
    }
    if let Some(temperature) = request.temperature {
        options.insert("temperature".into(), temperature.into());
    }
    options
}

fn messages(request: &CompletionRequest, system: &str) -> Vec<Value> {
    let mut messages = Vec::new();
    if !system.is_empty() {
        messages.push(json!({"role": "system", "content": system}));
    }
    for (at, message) in request.messages.iter().enumerate() {
        messages.extend(results(message, &request.messages[..at]));
        messages.extend(spoken(message));
    }
    messages
}

fn results(message: &Message, before: &[Message]) -> Vec<Value> {
    let result = |part: &MessagePart| match part {
        MessagePart::ToolResult(result) => {
            let name = tool_name(before, &result.id);
            Some(json!({"role": "tool", "tool_name": name, "content": result.content}))
        }
        MessagePart::Text { .. }
        | MessagePart::Image { .. }
        | MessagePart::ImageRef { .. }
        | MessagePart::ToolUse(_)
        | MessagePart::Reasoning(_) => None,
    };
    message.parts.iter().filter_map(result).collect()
}

fn spoken(message: &Message) -> Option<Value> {
    let images: Vec<&str> = message
        .parts
        .iter()
        .filter_map(|part| match part {
            MessagePart::Image { data, .. } => Some(data.as_str()),
            MessagePart::Text { .. }
            | MessagePart::ImageRef { .. }
            | MessagePart::ToolUse(_)
            | MessagePart::ToolResult(_)
            | MessagePart::Reasoning(_) => None,
        })
        .collect();
    let calls: Vec<Value> = message.tool_uses().map(call).collect();
    let text = joined_text(message);
    if text.is_empty() && images.is_empty() && calls.is_empty() {
        return None;
    }
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let mut spoken = json!({"role": role, "content": text});
    if !images.is_empty() {
        spoken["images"] = images.into();
    }
    if !calls.is_empty() {
        spoken["tool_calls"] = calls.into();
        let thinking: Vec<&str> = message.parts.iter().filter_map(thought).collect();
        if !thinking.is_empty() {
            spoken["thinking"] = thinking.join("\n").into();
        }
    }
    Some(spoken)
}

fn thought(part: &MessagePart) -> Option<&str> {
    match part {
        MessagePart::Reasoning(reasoning) => Some(&reasoning.text),
        MessagePart::Text { .. }
        | MessagePart::Image { .. }
        | MessagePart::ImageRef { .. }
        | MessagePart::ToolUse(_)
        | MessagePart::ToolResult(_) => None,
    }
}

fn call(tool_use: &crate::message::ToolUse) -> Value {
    json!({"function": {"name": tool_use.name, "arguments": tool_input(&tool_use.input)}})
}

fn tool(spec: &ToolSpec) -> Value {
    let ToolSpec { name, description, input_schema } = spec;
    let function = json!({"name": name, "description": description, "parameters": input_schema.to_json()});
    json!({"type": "function", "function": function})
}
