//! Progress of running calls as JSON lines. Progress is not stored, because the journal holds the complete result.
//! Clients that show text while it arrives read these lines; others can ignore them.

use rawko_core::{ServiceClass, ServiceName, Value};
use rawko_host::CallProgress;
use serde_json::{Value as Json, json};

use super::lines;

/// Returns `None` for progress that is not shown: fragments of tool input, and the arbiter's response, which is data.
pub fn line(heard: &CallProgress, agent: &str) -> Option<Json> {
    let text = |key: &str| heard.data.get(key).as_str().unwrap_or_default();
    let (kind, fields) = match text("type") {
        "text_delta" if !text("text").is_empty() => ("delta", json!({"text": text("text")})),
        "tool_use_start" => ("tool_use", json!({"tool": text("name"), "call": text("id")})),
        _ => return None,
    };
    let mut line = json!({"v": lines::VERSION, "type": kind, "id": heard.instance, "agent": agent});
    if let (Some(line), Json::Object(fields)) = (line.as_object_mut(), fields) {
        line.extend(fields);
    }
    Some(line)
}

/// Returns true for progress of an agent, as opposed to the arbiter.
pub fn is_agents(heard: &CallProgress) -> bool {
    matches!(ServiceName::of(&heard.name).class, ServiceClass::Model | ServiceClass::Agent)
}

/// Returns how many of these progress events of one call belong to the response with this text. A call may issue
/// several requests; events after the response belong to the next call.
pub fn belonging<'p>(heard: impl Iterator<Item = &'p Value>, answer: &str) -> usize {
    let (mut said, mut count) = (String::new(), 0);
    for data in heard {
        count += 1;
        match data.get("type").as_str() {
            Some("text_delta") => said.push_str(data.get("text").as_str().unwrap_or_default()),
            Some("message_done") if said == answer => return count,
            Some("message_done") => said.clear(),
            Some(_) | None => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_ends_where_its_text_does() {
        let delta = |text: &str| Value::map([("type", Value::str("text_delta")), ("text", Value::str(text))]);
        let done = || Value::map([("type", Value::str("message_done"))]);
        let two = [delta("Hel"), delta("lo."), done(), delta("And"), done()];
        let table: [(&str, &[Value], &str, usize); 5] = [
            ("the first of two", &two, "Hello.", 3),
            ("asked for again, then right", &two, "And", 5),
            ("cut off", &two[..2], "", 2),
            ("its beginning was not heard", &two[1..], "Hello.", 4),
            ("nothing was said", &[], "Hello.", 0),
        ];
        for (name, heard, answer, expected) in table {
            assert_eq!(belonging(heard.iter(), answer), expected, "{name}");
        }
    }
}
