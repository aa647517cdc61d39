//! Think: thoughts in sequence, which may revise earlier ones or branch off. It changes nothing outside; the thoughts are
//! kept in the agent's context, so that the outline survives a compaction of the conversation. Pure, like the plan.

use rawko_core::Value;
use serde::{Deserialize, Serialize};

use super::input::{text, whole};
use super::outcome::ToolOutcome;

const THOUGHTS_MAX: usize = 60;
const THOUGHT_CHARS_MAX: usize = 2_000;
/// Characters of a thought in the outline.
const SHOWN_CHARS: usize = 120;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Thought {
    number: u64,
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revises: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<u64>,
}

/// Adds a thought to those in `notes`, and returns the outline of all of them.
pub(super) fn think(notes: &Value, input: &Value) -> ToolOutcome {
    let mut thoughts: Vec<Thought> =
        serde_json::from_value(notes.get("thoughts").to_json()).unwrap_or_default();
    let number = thoughts.last().map_or(1, |last| last.number + 1);
    let known = |number: u64| thoughts.iter().any(|thought| thought.number == number);
    let (revises, from) = (whole(input, "revises"), whole(input, "branch_from"));
    if let Some(missing) = [revises, from].into_iter().flatten().find(|number| !known(*number)) {
        return ToolOutcome::failed(format!("there is no thought {missing}. {}", outline(&thoughts)));
    }
    let branch = Some(text(input, "branch").trim().to_owned()).filter(|name| !name.is_empty());
    if from.is_some() && branch.is_none() {
        return ToolOutcome::failed("`branch_from` needs a `branch`: a short name for this line of thought");
    }
    let said: String = text(input, "thought").chars().take(THOUGHT_CHARS_MAX).collect();
    thoughts.push(Thought { number, text: said, revises, branch, from });
    if thoughts.len() > THOUGHTS_MAX {
        thoughts.remove(0);
    }
    let is_done = input.get("done") == &Value::Bool(true);
    let after =
        if is_done { "Thinking is done; act on the result." } else { "Continue with the next thought." };
    let content = format!("Thought {number} is noted.\n{}\n{after}", outline(&thoughts));
    let mut all = notes.as_map().cloned().unwrap_or_default();
    let kept = serde_json::to_value(&thoughts).map(Value::from_json).unwrap_or_default();
    all.insert("thoughts".into(), kept);
    ToolOutcome::ok(content).with_data(Value::map([("notes", Value::Map(all.into()))]))
}

/// Lists all thoughts, one a line; revised ones are marked.
fn outline(thoughts: &[Thought]) -> String {
    let revised = |number: u64| thoughts.iter().rev().find(|other| other.revises == Some(number));
    let line = |thought: &Thought| {
        let short: String = thought.text.replace('\n', " ").chars().take(SHOWN_CHARS).collect();
        let mut line = format!("{}. {short}", thought.number);
        if let Some(branch) = &thought.branch {
            let from = thought.from.map(|from| format!(" from {from}")).unwrap_or_default();
            line.push_str(&format!(" [branch {branch}{from}]"));
        }
        if let Some(of) = thought.revises {
            line.push_str(&format!(" [revises {of}]"));
        }
        if let Some(by) = revised(thought.number) {
            line.push_str(&format!(" [revised by {}]", by.number));
        }
        line
    };
    let lines: Vec<String> = thoughts.iter().map(line).collect();
    if lines.is_empty() { "No thoughts yet.".to_owned() } else { format!("So far:\n{}", lines.join("\n")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn thoughts_are_revised_and_branch_off() {
        let mut notes = Value::from_json(json!({"words": ["kept"]}));
        let steps = [
            json!({"thought": "Use a queue."}),
            json!({"thought": "Use a table.", "branch": "table", "branch_from": 1}),
            json!({"thought": "A bounded queue.", "revises": 1, "done": true}),
        ];
        let mut content = String::new();
        for step in steps {
            let outcome = think(&notes, &Value::from_json(step));
            assert!(!outcome.is_error, "{}", outcome.content);
            notes = outcome.data.get("notes").clone();
            content = outcome.content;
        }
        assert_eq!(
            content,
            "Thought 3 is noted.\nSo far:\n1. Use a queue. [revised by 3]\n2. Use a table. [branch table from 1]\n3. A \
             bounded queue. [revises 1]\nThinking is done; act on the result."
        );
        assert_eq!(notes.get("words").to_json(), json!(["kept"]), "other notes stay");
    }

    #[test]
    fn a_thought_refers_only_to_those_that_exist() {
        for (input, expected) in [
            (json!({"thought": "x", "revises": 7}), "there is no thought 7. No thoughts yet."),
            (
                json!({"thought": "x", "branch": "b", "branch_from": 2}),
                "there is no thought 2. No thoughts yet.",
            ),
        ] {
            let outcome = think(&Value::NULL, &Value::from_json(input));
            assert_eq!((outcome.is_error, outcome.content.as_str()), (true, expected));
        }
    }

    #[test]
    fn thoughts_are_bounded() {
        let mut notes = Value::NULL;
        for number in 0..200 {
            let input = json!({"thought": format!("{number} {}", "x".repeat(10_000))});
            notes = think(&notes, &Value::from_json(input)).data.get("notes").clone();
        }
        let thoughts = notes.get("thoughts").as_list().unwrap().to_vec();
        assert_eq!(thoughts.len(), THOUGHTS_MAX);
        assert_eq!(thoughts.last().unwrap().get("number").as_i64(), Some(200));
        assert!(notes.to_string().len() < 200_000);
    }
}
