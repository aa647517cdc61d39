//! What a coding agent over ACP reports of its own calls: they are part of its conversation with their results, and each
//! decision about them is one line of the audit.

use serde_json::{Value as Json, json};

use crate::coding::{coder, coder_in};

fn parts(output: &rawko_core::Value) -> Vec<Json> {
    let messages = output.get("messages").to_json();
    let messages = messages.as_array().unwrap().clone();
    messages.iter().flat_map(|message| message["parts"].as_array().unwrap().clone()).collect()
}

#[tokio::test]
async fn calls_are_shown_with_their_results_asked_for_or_not() {
    let steps = json!([
        {"run": [{"kind": "read", "name": "Read", "rawInput": {"path": "a.txt"}}, "completed", "one\ntwo"]},
        {"ask": {"toolCallId": "w", "kind": "edit", "name": "Write", "rawInput": {"path": "b.txt"}}},
        {"end": ["w", "completed", "wrote 3 lines"]},
        {"run": [{"kind": "execute", "name": "Bash", "rawInput": {"command": "false"}}, "failed", "exit 1"]},
        {"ask": {"toolCallId": "q", "kind": "read", "rawInput": {"path": "a.txt"}}},
        {"say": "done"},
    ]);
    let output = coder(&steps).run("outer", json!({})).await;
    let parts = parts(&output);
    let calls: Vec<&str> = parts
        .iter()
        .filter(|part| part["type"] == "tool_use")
        .map(|part| part["name"].as_str().unwrap())
        .collect();
    assert_eq!(calls, ["Read", "Write", "Bash", "a tool"], "{parts:#?}");
    let results: Vec<(String, bool)> = parts
        .iter()
        .filter(|part| part["type"] == "tool_result")
        .map(|part| (part["content"].as_str().unwrap().to_owned(), part["is_error"] == true))
        .collect();
    let expected = [
        ("one\ntwo", false),
        ("wrote 3 lines", false),
        ("exit 1", true),
        ("allowed; the agent reported no result", false),
    ];
    assert_eq!(results, expected.map(|(text, is_error)| (text.to_owned(), is_error)), "{parts:#?}");
}

#[tokio::test]
async fn the_audit_has_one_line_per_decision_with_the_verdict_of_every_layer() {
    let steps = json!([
        {"ask": {"kind": "edit", "rawInput": {"path": "a.txt"}, "locations": [{"path": "b.txt"}]}},
        {"ask": {"kind": "execute", "rawInput": {"command": "touch out.txt"}}},
    ]);
    let yard =
        coder_in("tools: {blocked: [Bash]}", &steps).settings("permissions: {allow: ['Edit', 'Bash']}\n");
    let (_, audit) = yard.run_audited("outer", json!({})).await;
    let lines: Vec<_> = audit.iter().filter(|line| line.service.starts_with("tool:")).collect();
    let shown: Vec<String> = lines.iter().map(|line| format!("{} {}", line.decision, line.service)).collect();
    assert_eq!(shown, ["admitted tool:Edit", "refused tool:Bash"], "{lines:#?}");
    for line in &lines {
        for layer in ["governance allows", "permissions allow", "tools and paths"] {
            assert!(line.reason.contains(layer), "{layer}: {}", line.reason);
        }
    }
    assert!(lines[1].reason.contains("`Bash` is blocked"), "{}", lines[1].reason);
}
