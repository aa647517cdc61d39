//! Builds a request for the messages API.

use serde_json::{Map, Value, json};

use super::thinking::{Thinking, is_always_thinking, thinking_block};
use super::{ANSWER_TOOL, caching};
use crate::message::{MessagePart, Role, ToolSpec};
use crate::provider::wire::{object_schema, ordered, tool_input};
use crate::provider::{CompletionRequest, OutputSchema};

/// The version of the service's own search that every model supports.
const SEARCH: &str = "web_search_20250305";

pub(in crate::provider::wire) fn body(request: &CompletionRequest) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    let limit = request.output_tokens_max.unwrap_or_else(|| output_tokens_max(&request.model));
    let thinking = Thinking::of(request, limit);
    body.insert("max_tokens".into(), thinking.output_tokens_max(request, limit).into());
    if !request.system.is_empty() {
        body.insert("system".into(), request.system.as_str().into());
    }
    body.insert("messages".into(), messages(request).into());
    body.insert("stream".into(), true.into());
    let search = request.search.then(|| json!({"type": SEARCH, "name": "web_search", "max_uses": 5}));
    let own = request.schema.as_ref().map(answer_tool).into_iter().chain(search);
    let tools: Vec<Value> = request.tools.iter().map(tool).chain(own).collect();
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
    }
    if request.schema.is_some() {
        body.insert("tool_choice".into(), tool_choice(request, thinking));
    }
    thinking.add_to(&mut body);
    if let Some(temperature) = request.temperature.filter(|_| thinking.takes_temperature(&request.model)) {
        body.insert("temperature".into(), temperature.into());
    }
    caching::mark(&mut body);
    body.into()
}

/// The service requires a limit. The oldest models reject one above their own.
fn output_tokens_max(model: &str) -> u32 {
    let is_oldest =
        ["claude-3-haiku", "claude-3-opus", "claude-3-sonnet"].iter().any(|name| model.starts_with(name));
    if is_oldest {
        4096
    } else if model.starts_with("claude-3-5") {
        8192
    } else {
        16_384
    }
}

/// The model may use other tools first, but cannot end without the response. A model that thinks cannot be forced to
/// call a tool.
fn tool_choice(request: &CompletionRequest, thinking: Thinking) -> Value {
    if thinking != Thinking::Off || is_always_thinking(&request.model) {
        json!({"type": "auto"})
    } else if request.tools.is_empty() {
        json!({"type": "tool", "name": ANSWER_TOOL})
    } else {
        json!({"type": "any"})
    }
}

/// Consecutive messages of one role are merged, and empty ones dropped: the service rejects both.
fn messages(request: &CompletionRequest) -> Vec<Value> {
    let mut joined: Vec<(Role, Vec<Value>)> = Vec::new();
    for message in request.messages.iter() {
        let blocks: Vec<Value> = ordered(message).filter_map(|part| block(part, &request.model)).collect();
        match joined.last_mut() {
            _ if blocks.is_empty() => {}
            Some((role, said)) if *role == message.role => said.extend(blocks),
            Some(_) | None => joined.push((message.role, blocks)),
        }
    }
    let role = |role| match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    joined.into_iter().map(|(who, content)| json!({"role": role(who), "content": content})).collect()
}

fn block(part: &MessagePart, model: &str) -> Option<Value> {
    match part {
        MessagePart::Reasoning(reasoning) => thinking_block(reasoning, model),
        MessagePart::Text { text } if text.trim().is_empty() => None,
        MessagePart::Text { text } => Some(json!({"type": "text", "text": text})),
        MessagePart::Image { media_type, data } => {
            let source = json!({"type": "base64", "media_type": media_type, "data": data});
            Some(json!({"type": "image", "source": source}))
        }
        MessagePart::ImageRef { .. } => None,
        MessagePart::ToolUse(it) => {
            Some(json!({"type": "tool_use", "id": it.id, "name": it.name, "input": tool_input(&it.input)}))
        }
        MessagePart::ToolResult(result) => {
            let mut block =
                json!({"type": "tool_result", "tool_use_id": result.id, "content": result.content});
            if result.is_error {
                block["is_error"] = true.into();
            }
            Some(block)
        }
    }
}

fn tool(spec: &ToolSpec) -> Value {
    json!({"name": spec.name, "description": spec.description, "input_schema": spec.input_schema.to_json()})
}

fn answer_tool(schema: &OutputSchema) -> Value {
    let description = format!("Give the answer ({}). Call this once, when you are done.", schema.name);
    let shape = object_schema(schema);
    json!({"name": ANSWER_TOOL, "description": description, "input_schema": shape})
}
