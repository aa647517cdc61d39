//! Prompt caching: marks that tell the service up to where a request can be reused. It compares prefixes in the order
//! tools, system, messages, so the marks are at the end of what stays the same: the tools, the system prompt, the
//! messages of the previous request, and those of this one, which the next request repeats.

use serde_json::{Map, Value, json};

/// A request with more is rejected. Here: tools, system, and the last two user messages.
const MARKED_MESSAGES: usize = 2;

pub(super) fn mark(body: &mut Map<String, Value>) {
    if let Some(tool) = body.get_mut("tools").and_then(Value::as_array_mut).and_then(|tools| tools.last_mut())
    {
        add(tool);
    }
    if let Some(system) = body.get_mut("system") {
        let mut block = json!({"type": "text", "text": system.take()});
        add(&mut block);
        *system = json!([block]);
    }
    let messages = body.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten();
    let asked = messages.rev().filter(|message| message.get("role").and_then(Value::as_str) == Some("user"));
    for message in asked.take(MARKED_MESSAGES) {
        let content = message.get_mut("content").and_then(Value::as_array_mut);
        if let Some(block) = content.and_then(|content| content.last_mut()) {
            add(block);
        }
    }
}

fn add(block: &mut Value) {
    block["cache_control"] = json!({"type": "ephemeral"});
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last mark of a request must be a mark of the next one, or nothing is read from the cache.
    #[test]
    fn the_next_request_marks_where_this_one_ended() {
        let user = |text: &str| json!({"role": "user", "content": [{"type": "text", "text": text}]});
        let model = |text: &str| json!({"role": "assistant", "content": [{"type": "text", "text": text}]});
        let marked = |messages: &[Value]| {
            let mut body = Map::new();
            body.insert("tools".into(), json!([{"name": "a"}, {"name": "b"}]));
            body.insert("system".into(), json!("Be brief."));
            body.insert("messages".into(), messages.to_vec().into());
            mark(&mut body);
            Value::Object(body)
        };
        let first = vec![user("1")];
        let second = vec![user("1"), model("2"), user("3")];
        let third = vec![user("1"), model("2"), user("3"), model("4"), user("5")];
        let at =
            |body: &Value, path: &str| body.pointer(path).is_some_and(|it| it.get("cache_control").is_some());
        let positions = |body: &Value| -> Vec<usize> {
            (0..5).filter(|number| at(body, &format!("/messages/{number}/content/0"))).collect()
        };
        let table = [(first, vec![0]), (second, vec![0, 2]), (third, vec![2, 4])];
        for (messages, expected) in table {
            let body = marked(&messages);
            assert_eq!(positions(&body), expected);
            assert_eq!(
                (at(&body, "/tools/0"), at(&body, "/tools/1"), at(&body, "/system/0")),
                (false, true, true)
            );
            assert!(body.to_string().matches("cache_control").count() <= 4);
        }
    }
}
