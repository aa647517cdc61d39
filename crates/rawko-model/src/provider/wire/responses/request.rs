//! Builds a request for the responses API.

use serde_json::{Map, Value, json};

use crate::message::{Message, MessagePart, Reasoning, Role, ToolSpec};
use crate::provider::wire::openai::{can_reason, is_strict};
use crate::provider::wire::{object_schema, ordered, tool_input};
use crate::provider::{CompletionRequest, OutputSchema};

pub(in crate::provider::wire) fn body(request: &CompletionRequest) -> Value {
    let can_reason = can_reason(&request.model);
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    if !request.system.is_empty() {
        body.insert("instructions".into(), request.system.as_str().into());
    }
    body.insert("input".into(), request.messages.iter().flat_map(items).collect());
    body.insert("stream".into(), true.into());
    body.insert("store".into(), false.into());
    if can_reason {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    }
    let search = request.search.then(|| json!({"type": "web_search"}));
    let tools: Vec<Value> = request.tools.iter().map(tool).chain(search).collect();
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
    }
    if let Some(schema) = &request.schema {
        body.insert("text".into(), json!({"format": format(schema)}));
    }
    if let Some(limit) = request.output_tokens_max {
        body.insert("max_output_tokens".into(), limit.into());
    }
    if let Some(effort) = request.reasoning.filter(|_| can_reason) {
        let reasoning = json!({"effort": effort.level().as_str(), "summary": "auto"});
        body.insert("reasoning".into(), reasoning);
    }
    // Models that reason reject a temperature.
    if let Some(temperature) = request.temperature.filter(|_| !can_reason) {
        body.insert("temperature".into(), temperature.into());
    }
    body.into()
}

/// A message is several items: results first, then text and images, calls and reasoning as they came.
fn items(message: &Message) -> Vec<Value> {
    let (mut items, mut content) = (Vec::new(), Vec::new());
    let parts: Vec<&MessagePart> = ordered(message).collect();
    for (at, part) in parts.iter().enumerate() {
        match part {
            MessagePart::Text { text } if text.is_empty() => {}
            MessagePart::Text { text } => match message.role {
                Role::User => content.push(json!({"type": "input_text", "text": text})),
                Role::Assistant => items.push(json!({"role": "assistant", "content": text})),
            },
            MessagePart::Image { media_type, data } => {
                let url = format!("data:{media_type};base64,{data}");
                content.push(json!({"type": "input_image", "image_url": url}));
            }
            MessagePart::ImageRef { .. } => {}
            MessagePart::ToolUse(it) => {
                let arguments = tool_input(&it.input).to_string();
                let call = json!({"type": "function_call", "call_id": it.id, "name": it.name});
                items.push(with(call, "arguments", arguments.into()));
            }
            MessagePart::ToolResult(result) => {
                let output =
                    json!({"type": "function_call_output", "call_id": result.id, "output": result.content});
                items.push(output);
            }
            // The service rejects reasoning without the item that it led to.
            MessagePart::Reasoning(it) if parts.iter().skip(at + 1).any(|part| is_item(part)) => {
                items.extend(reasoning(it));
            }
            MessagePart::Reasoning(_) => {}
        }
    }
    if !content.is_empty() {
        items.push(json!({"role": "user", "content": content}));
    }
    items
}

fn is_item(part: &MessagePart) -> bool {
    match part {
        MessagePart::Text { text } => !text.is_empty(),
        MessagePart::ToolUse(_) => true,
        MessagePart::Image { .. }
        | MessagePart::ImageRef { .. }
        | MessagePart::ToolResult(_)
        | MessagePart::Reasoning(_) => false,
    }
}

/// Only encrypted reasoning can be sent: the service stores none.
fn reasoning(it: &Reasoning) -> Option<Value> {
    let content = it.signature.as_deref()?;
    let summary: Vec<Value> = match it.text.as_str() {
        "" => Vec::new(),
        text => vec![json!({"type": "summary_text", "text": text})],
    };
    let item = json!({"type": "reasoning", "summary": summary, "encrypted_content": content});
    Some(match &it.name {
        Some(id) => with(item, "id", id.as_str().into()),
        None => item,
    })
}

fn with(mut item: Value, key: &str, value: Value) -> Value {
    item[key] = value;
    item
}

fn tool(spec: &ToolSpec) -> Value {
    let ToolSpec { name, description, input_schema } = spec;
    let parameters = input_schema.to_json();
    json!({"type": "function", "name": name, "description": description, "parameters": parameters, "strict": false})
}

fn format(schema: &OutputSchema) -> Value {
    let shape = object_schema(schema);
    let is_strict = is_strict(&shape);
    json!({"type": "json_schema", "name": schema.name, "schema": shape, "strict": is_strict})
}
