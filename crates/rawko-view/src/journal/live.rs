//! What running calls tell meanwhile, as lines for programs. Nothing of it is kept: the journal's lines say it all again,
//! whole. Whoever shows text as it comes reads these, everybody else may leave them out.

use rawko_core::{ServiceClass, ServiceName, Value};
use rawko_host::Progress;
use serde_json::{Value as Json, json};

use super::lines;

/// `None` for what nobody is shown: pieces of a tool's input, the arbiter's answer, which is data.
pub fn line(heard: &Progress, agent: &str) -> Option<Json> {
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

/// Whether an agent says it, rather than somebody who decides about agents.
pub fn is_agents(heard: &Progress) -> bool {
    matches!(ServiceName::of(&heard.name).class, ServiceClass::Model | ServiceClass::Agent)
}

/// How many of these, the progress of one call in order, belong to an answer with this text. A call may ask more than
/// once before it answers; what follows the answer is the next call's.
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
