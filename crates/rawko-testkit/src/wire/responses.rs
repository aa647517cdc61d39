//! Events of an OpenAI response stream.

use serde_json::{Value, json};

use super::{ModelAnswer, Reason, pieces};
use crate::reply::ModelReply;

/// Formats an event; its name is also in the data.
pub fn event(data: &Value) -> String {
    let name = data.get("type").and_then(Value::as_str).unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

/// Event that begins an output item.
pub fn added(index: usize, item: Value) -> String {
    event(&json!({"type": "response.output_item.added", "output_index": index, "item": item}))
}

/// Event that completes an output item.
pub fn done(index: usize, item: Value) -> String {
    event(&json!({"type": "response.output_item.done", "output_index": index, "item": item}))
}

/// Event with a piece of text of the given kind.
pub fn delta(kind: &str, index: usize, delta: &str) -> String {
    event(&json!({"type": format!("response.{kind}.delta"), "output_index": index, "delta": delta}))
}

/// Formats the last event.
pub fn end(reason: Option<&str>, usage: Value) -> String {
    let status = if reason.is_some() { "incomplete" } else { "completed" };
    let details = reason.map(|reason| json!({ "reason": reason }));
    let response = json!({"id": "resp_1", "object": "response", "status": status, "model": "test-model",
        "error": null, "incomplete_details": details, "usage": usage});
    event(&json!({"type": format!("response.{status}"), "response": response}))
}

/// Returns the whole answer as a stream of events.
pub fn reply(answer: &ModelAnswer) -> ModelReply {
    let created =
        json!({"id": "resp_1", "object": "response", "status": "in_progress", "model": "test-model"});
    let mut events = vec![event(&json!({"type": "response.created", "response": created}))];
    let first_call = usize::from(!answer.text.is_empty());
    if !answer.text.is_empty() {
        events.push(added(0, json!({"id": "msg_1", "type": "message", "role": "assistant", "content": []})));
        events.extend(answer.text.iter().map(|piece| delta("output_text", 0, piece)));
        let text = json!({"type": "output_text", "text": answer.text.concat(), "annotations": []});
        events
            .push(done(0, json!({"id": "msg_1", "type": "message", "role": "assistant", "content": [text]})));
    }
    for (index, call) in answer.calls.iter().enumerate().map(|(number, call)| (number + first_call, call)) {
        let arguments = call.input.to_string();
        let item = |arguments: &str| {
            json!({"id": format!("fc_{index}"), "type": "function_call", "call_id": call.id, "name": call.name,
                "arguments": arguments})
        };
        events.push(added(index, item("")));
        let more = |piece| delta("function_call_arguments", index, piece);
        events.extend(pieces(&arguments).into_iter().map(more));
        events.push(done(index, item(&arguments)));
    }
    let reason = match answer.reason {
        Reason::Stop => None,
        Reason::Length => Some("max_output_tokens"),
        Reason::Filter => Some("content_filter"),
    };
    let usage = json!({"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens,
        "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}});
    events.push(end(reason, usage));
    ModelReply::events(events)
}
