//! Builds a request for chat completions.

use serde_json::{Map, Value, json};

use crate::message::{Message, MessagePart, Role, ToolResult, ToolSpec, ToolUse};
use crate::provider::wire::{joined_text, object_schema, system_with_schema, tool_input};
use crate::provider::{CompletionRequest, OutputSchema};

/// The differences between compatible services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenAiTraits {
    /// Support for structured responses.
    pub schema: SchemaSupport,
    /// OpenAI's newer models reject `max_tokens`; most others support nothing else.
    pub is_original: bool,
    /// Messages whose reasoning is sent back.
    pub reasoning: ReasoningReturn,
}

/// Sending a model's own reasoning back to it, in the field that held it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasoningReturn {
    /// The service has no such field, or rejects it.
    Never,
    /// With tool calls: some services reject a call without its reasoning, others use it; none needs it later.
    WithTools,
    /// With every message.
    Always,
}

/// A service's support for JSON output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaSupport {
    /// `response_format` with the schema.
    JsonSchema,
    /// `response_format` only requests JSON; the schema is in the prompt.
    JsonObject,
    /// Everything is in the prompt.
    Prompt,
}

pub(in crate::provider::wire) fn body(request: &CompletionRequest, traits: OpenAiTraits) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    body.insert("messages".into(), messages(request, traits).into());
    body.insert("stream".into(), true.into());
    body.insert("stream_options".into(), json!({"include_usage": true}));
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().map(tool).collect());
    }
    if let Some(format) = request.schema.as_ref().and_then(|schema| response_format(schema, traits.schema)) {
        body.insert("response_format".into(), format);
    }
    if let Some(limit) = request.output_tokens_max {
        let key = if traits.is_original { "max_completion_tokens" } else { "max_tokens" };
        body.insert(key.into(), limit.into());
    }
    if let Some(effort) = request.reasoning.filter(|_| !traits.is_original || can_reason(&request.model)) {
        body.insert("reasoning_effort".into(), effort.level().as_str().into());
    }
    if let Some(temperature) = request.temperature {
        body.insert("temperature".into(), temperature.into());
    }
    body.into()
}

fn messages(request: &CompletionRequest, traits: OpenAiTraits) -> Vec<Value> {
    let in_words = match traits.schema {
        SchemaSupport::JsonSchema => None,
        SchemaSupport::JsonObject | SchemaSupport::Prompt => request.schema.as_ref(),
    };
    let system = system_with_schema(&request.system, in_words);
    let mut messages = Vec::new();
    if !system.is_empty() {
        messages.push(json!({"role": "system", "content": system}));
    }
    // DeepSeek also requires it of calls that another model made.
    let is_strict = request.model.rsplit('/').next().is_some_and(|model| model.starts_with("deepseek"));
    let default = (is_strict && request.reasoning.is_some()).then_some("reasoning_content");
    let field = reasoning_field(&request.messages).or(default);
    for message in request.messages.iter() {
        add(&mut messages, message, |message, spoken| {
            add_reasoning(message, spoken, traits.reasoning, field)
        });
    }
    messages
}

/// OpenAI's other models reject the parameter.
pub(in crate::provider::wire) fn can_reason(model: &str) -> bool {
    let model = model.rsplit('/').next().unwrap_or(model);
    !["gpt-3", "gpt-4", "chatgpt"].iter().any(|start| model.starts_with(start))
}

/// Returns the field in which this server sends its reasoning, once it has.
fn reasoning_field(messages: &[Message]) -> Option<&str> {
    messages.iter().flat_map(|message| &message.parts).find_map(|part| match part {
        MessagePart::Reasoning(reasoning) => reasoning.name.as_deref(),
        MessagePart::Text { .. }
        | MessagePart::Image { .. }
        | MessagePart::ImageRef { .. }
        | MessagePart::ToolUse(_)
        | MessagePart::ToolResult(_) => None,
    })
}

/// A service that requires the field requires it even if the model did not think.
fn add_reasoning(message: &Message, spoken: &mut Value, rule: ReasoningReturn, field: Option<&str>) {
    let is_due = match rule {
        ReasoningReturn::Never => false,
        ReasoningReturn::WithTools => message.tool_uses().next().is_some(),
        ReasoningReturn::Always => true,
    };
    let Some(field) = field.filter(|_| is_due) else { return };
    let texts = message.parts.iter().filter_map(|part| match part {
        MessagePart::Reasoning(reasoning) => Some(reasoning.text.as_str()),
        MessagePart::Text { .. }
        | MessagePart::Image { .. }
        | MessagePart::ImageRef { .. }
        | MessagePart::ToolUse(_)
        | MessagePart::ToolResult(_) => None,
    });
    spoken[field] = texts.collect::<Vec<_>>().join("\n").into();
}

fn add(messages: &mut Vec<Value>, message: &Message, with_reasoning: impl Fn(&Message, &mut Value)) {
    match message.role {
        Role::Assistant => {
            let mut spoken = assistant(message);
            with_reasoning(message, &mut spoken);
            messages.push(spoken);
        }
        Role::User => {
            let results = message.parts.iter().filter_map(|part| match part {
                MessagePart::ToolResult(result) => Some(tool_message(result)),
                MessagePart::Text { .. }
                | MessagePart::Image { .. }
                | MessagePart::ImageRef { .. }
                | MessagePart::ToolUse(_)
                | MessagePart::Reasoning(_) => None,
            });
            messages.extend(results);
            messages.extend(user(message));
        }
    }
}

fn assistant(message: &Message) -> Value {
    let text = joined_text(message);
    let calls: Vec<Value> = message.tool_uses().map(tool_call).collect();
    match (text.is_empty(), calls.is_empty()) {
        (_, true) => json!({"role": "assistant", "content": text}),
        (true, false) => json!({"role": "assistant", "content": null, "tool_calls": calls}),
        (false, false) => json!({"role": "assistant", "content": text, "tool_calls": calls}),
    }
}

fn tool_call(tool_use: &ToolUse) -> Value {
    let arguments = tool_input(&tool_use.input).to_string();
    json!({"id": tool_use.id, "type": "function", "function": {"name": tool_use.name, "arguments": arguments}})
}

fn tool_message(result: &ToolResult) -> Value {
    json!({"role": "tool", "tool_call_id": result.id, "content": result.content})
}

/// Plain text stays a string: not every compatible server accepts a list.
fn user(message: &Message) -> Option<Value> {
    let content: Vec<Value> = message.parts.iter().filter_map(content_part).collect();
    let has_image = message.parts.iter().any(|part| matches!(part, MessagePart::Image { .. }));
    match content.is_empty() {
        true => None,
        false if has_image => Some(json!({"role": "user", "content": content})),
        false => Some(json!({"role": "user", "content": joined_text(message)})),
    }
}

fn content_part(part: &MessagePart) -> Option<Value> {
    match part {
        MessagePart::Text { text } => Some(json!({"type": "text", "text": text})),
        MessagePart::Image { media_type, data } => {
            let url = format!("data:{media_type};base64,{data}");
            Some(json!({"type": "image_url", "image_url": {"url": url}}))
        }
        MessagePart::ImageRef { .. }
        | MessagePart::ToolUse(_)
        | MessagePart::ToolResult(_)
        | MessagePart::Reasoning(_) => None,
    }
}

fn tool(spec: &ToolSpec) -> Value {
    let ToolSpec { name, description, input_schema } = spec;
    let function = json!({"name": name, "description": description, "parameters": input_schema.to_json()});
    json!({"type": "function", "function": function})
}

fn response_format(schema: &OutputSchema, support: SchemaSupport) -> Option<Value> {
    match support {
        SchemaSupport::JsonSchema => {
            let shape = object_schema(schema);
            let is_strict = is_strict(&shape);
            let named = json!({"name": schema.name, "schema": shape, "strict": is_strict});
            Some(json!({"type": "json_schema", "json_schema": named}))
        }
        SchemaSupport::JsonObject => Some(json!({"type": "json_object"})),
        SchemaSupport::Prompt => None,
    }
}

/// Returns true if a schema meets the rules of `strict`: every object is closed and all its properties are required.
/// Services reject `strict` with any other.
pub(in crate::provider::wire) fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => is_closed(map) && map.values().all(is_strict),
        Value::Array(items) => items.iter().all(is_strict),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

fn is_closed(schema: &Map<String, Value>) -> bool {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return true;
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    schema.get("additionalProperties") == Some(&Value::Bool(false))
        && properties.is_some_and(|all| all.keys().all(|key| required.contains(&key.as_str())))
}
