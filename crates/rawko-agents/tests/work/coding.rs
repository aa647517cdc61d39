//! Coding agents over ACP: they have their own tools, so they request permission from our gate.

use serde_json::{Value as Json, json};

use crate::outside::{around, heard, words};
use crate::yard::{Yard, exists, yard};

const FILE: &str = "---
name: program
kind: acp
command: [python3, coder.py]
whenToUse: For code.
---
You write code.
";

pub(crate) fn coder(steps: &Json) -> Yard {
    coder_in("", steps)
}

pub(crate) fn coder_in(keys: &str, steps: &Json) -> Yard {
    let yard = yard("[]")
        .file("coder.py", include_str!("coder.py"))
        .file("steps.json", &steps.to_string())
        .file("a.txt", "one\ntwo\n")
        .file(".rawko/agents/program.md", FILE)
        .chart(&around(keys));
    std::os::unix::fs::symlink(std::env::temp_dir(), yard.root().join("link")).unwrap();
    yard
}

fn answers(yard: &Yard, kind: &str) -> Vec<String> {
    heard(yard, kind).iter().map(|line| line["answer"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_command_is_permitted_where_the_phase_permits_it() {
    let steps = json!([
        {"say": "may I?"},
        {"ask": {"kind": "execute", "rawInput": {"command": "touch out.txt"}}},
    ]);
    for (phase, answer) in [("analyze_code", "no"), ("validate", "no"), ("implement", "yes")] {
        let yard = coder(&steps);
        let output = yard.run("outer", json!({"phase": phase})).await;
        assert_eq!(words(&output, "outcome"), "finished", "{phase}: {output}");
        assert_eq!(answers(&yard, "permission"), [answer], "{phase}");
        assert_eq!(exists(&yard.root(), "out.txt"), answer == "yes", "{phase}");
        assert_eq!(output.get("changes").as_i64(), Some(i64::from(answer == "yes")), "{phase}");
        let is_told = output.get("messages").to_string().contains(&format!("the phase `{phase}`"));
        assert_eq!(is_told, answer == "no", "{phase}: {output}");
        let prompt = &heard(&yard, "prompt")[0]["text"];
        assert!(prompt.as_str().unwrap().contains(&format!("You are in the phase \"{phase}\"")), "{prompt}");
        assert!(prompt.as_str().unwrap().starts_with("You write code."), "{prompt}");
    }
}

/// Requests, and the verdicts in a read-only phase and in a build phase.
#[tokio::test]
async fn every_kind_of_wish_is_held_against_the_rules() {
    let outside = std::env::temp_dir().join("rawko-out.txt");
    let root = "ROOT";
    let table = [
        ("read", json!({"kind": "read", "locations": [{"path": format!("{root}/a.txt")}]}), "yes", "yes"),
        ("read outside", json!({"kind": "read", "locations": [{"path": "/etc/passwd"}]}), "no", "no"),
        ("read by a link", json!({"kind": "read", "rawInput": {"path": "link"}}), "no", "no"),
        ("search", json!({"kind": "search", "rawInput": {"pattern": "x"}}), "yes", "yes"),
        ("edit", json!({"kind": "edit", "rawInput": {"file_path": format!("{root}/a.txt")}}), "no", "yes"),
        (
            "edit that shows its change",
            json!({"kind": "edit", "content": [{"type": "diff", "path": format!("{root}/a.txt"), "newText": "x"}]}),
            "no",
            "yes",
        ),
        ("edit outside", json!({"kind": "edit", "locations": [{"path": outside}]}), "no", "no"),
        ("edit of who knows what", json!({"kind": "edit"}), "no", "no"),
        ("edit in git", json!({"kind": "edit", "rawInput": {"path": ".git/config"}}), "no", "no"),
        ("delete", json!({"kind": "delete", "locations": [{"path": "a.txt"}]}), "no", "yes"),
        (
            "move out",
            json!({"kind": "move", "locations": [{"path": "a.txt"}, {"path": outside}]}),
            "no",
            "no",
        ),
        (
            "execute, as words",
            json!({"kind": "execute", "rawInput": {"command": ["bash", "-lc", "touch out.txt"]}}),
            "no",
            "yes",
        ),
        (
            "execute elsewhere",
            json!({"kind": "execute", "rawInput": {"command": "ls", "cwd": "/etc"}}),
            "no",
            "no",
        ),
        ("execute who knows what", json!({"kind": "execute", "title": "run `ls`"}), "no", "no"),
        (
            "a shell that says it thinks",
            json!({"kind": "think", "name": "shell", "rawInput": {"command": "touch out.txt > x"}}),
            "no",
            "yes",
        ),
        ("think", json!({"kind": "think"}), "yes", "yes"),
        ("another mode", json!({"kind": "switch_mode"}), "no", "no"),
        ("who knows what", json!({"kind": "other", "name": "teleport"}), "no", "no"),
        ("fetch", json!({"kind": "fetch", "rawInput": {"url": "http://127.0.0.1/"}}), "no", "no"),
    ];
    for (phase, at) in [("explore", 0), ("implement", 1)] {
        let yard = coder(&json!([]));
        let steps: Vec<Json> = table.iter().map(|(_, ask, _, _)| json!({"ask": ask})).collect();
        let steps = Json::Array(steps).to_string().replace(root, &yard.root().display().to_string());
        let yard = yard.file("steps.json", &steps);
        yard.run("outer", json!({"phase": phase, "goal": {"needs": []}})).await;
        let told: Vec<(&str, String)> =
            table.iter().map(|(case, ..)| *case).zip(answers(&yard, "permission")).collect();
        let expected: Vec<(&str, String)> = table
            .iter()
            .map(|(case, _, looking, building)| (*case, [looking, building][at].to_string()))
            .collect();
        assert_eq!(told, expected, "{phase}");
    }
}

/// Files that it edits itself are known from its requests.
#[tokio::test]
async fn files_that_it_may_edit_are_on_record() {
    let yard = coder(&json!([
        {"ask": {"kind": "edit", "name": "Write", "rawInput": {"file_path": "a.txt"}}},
        {"ask": {"kind": "read", "rawInput": {"path": "steps.json"}}},
        {"ask": {"kind": "edit", "rawInput": {"path": "/etc/passwd"}}},
    ]));
    let output = yard.run("outer", json!({})).await;
    assert_eq!(output.get("filesModified").to_json(), json!(["a.txt"]), "{output}");
    assert_eq!(output.get("changes").as_i64(), Some(1));
}

/// The effects of an agent's own tool are unknown: a read-only phase refuses it.
#[tokio::test]
async fn a_tool_that_nobody_knows_is_for_those_who_may_write() {
    let steps = json!([{"ask": {"kind": "other", "name": "teleport"}}]);
    for (keys, answer) in [("", "yes"), ("tools: {blocked: [Write, Edit]}", "no")] {
        let yard = coder_in(keys, &steps);
        yard.run("outer", json!({})).await;
        assert_eq!(answers(&yard, "permission"), [answer], "{keys}");
    }
}

#[tokio::test]
async fn files_are_read_and_written_within_the_project_only() {
    let steps = json!([
        {"read": "a.txt"},
        {"read": "/etc/passwd"},
        {"write": ["new.txt", "hello"]},
        {"write": ["../rawko-out.txt", "x"]},
        {"write": ["link/rawko-out.txt", "x"]},
    ]);
    let yard = coder(&steps);
    let output = yard.run("outer", json!({})).await;
    let reads = answers(&yard, "read");
    assert_eq!(reads[0], "one\ntwo\n");
    assert!(reads[1].contains("outside the project"), "{}", reads[1]);
    let writes = answers(&yard, "write");
    assert_eq!(writes[0], "done");
    assert!(writes[1].contains("outside the project"), "{}", writes[1]);
    assert!(writes[2].contains("through a link"), "{}", writes[2]);
    assert_eq!(yard.read("new.txt").as_deref(), Some("hello"));
    assert_eq!(output.get("changes").as_i64(), Some(1));
    assert_eq!(output.get("filesModified").to_json(), json!(["new.txt"]));
    assert!(!exists(yard.root().parent().unwrap(), "rawko-out.txt"));

    let yard = coder(&json!([{"read": "a.txt"}, {"write": ["new.txt", "hello"]}]));
    yard.run("outer", json!({"phase": "explore", "goal": {"needs": []}})).await;
    assert_eq!(answers(&yard, "read"), ["one\ntwo\n"]);
    assert!(answers(&yard, "write")[0].contains("the phase `explore`"));
    assert!(!exists(&yard.root(), "new.txt"));
}

#[tokio::test]
async fn what_it_spent_and_its_session_come_back() {
    let yard = coder(&json!([{"say": "done"}, {"cost": 0.25}]));
    let output = yard.run("outer", json!({})).await;
    assert_eq!((words(&output, "session"), words(&output, "text")), ("new-session", "done"));
    let usage = output.get("usage").to_json();
    assert_eq!(
        (&usage["tokens"], &usage["cost_usd"], &usage["is_estimate"]),
        (&json!(42), &json!(0.25), &json!(false))
    );
    let output = yard.run("outer", json!({"session": "an-old-one"})).await;
    assert_eq!(words(&output, "session"), "an-old-one");
    let load = &heard(&yard, "load")[0];
    assert_eq!(load["session"], "an-old-one");
    assert_eq!(load["cwd"], yard.root().display().to_string());
}

#[tokio::test]
async fn a_budget_of_tool_calls_stops_it() {
    let steps = json!([
        {"write": ["1.txt", "x"]},
        {"ask": {"kind": "execute", "rawInput": {"command": "touch 2.txt"}}},
        {"write": ["3.txt", "x"]},
        {"say": "never"},
    ]);
    let yard = coder_in("budget: {tool_calls: 2}", &steps);
    let output = yard.run("outer", json!({})).await;
    assert_eq!(words(&output, "category"), "limit", "{output}");
    assert!(words(&output, "message").contains("budget.tool_calls"), "{output}");
    assert_eq!([1, 2, 3].map(|number| exists(&yard.root(), &format!("{number}.txt"))), [true, true, false]);
    assert_eq!(output.get("changes").as_i64(), Some(2));
}

#[tokio::test]
async fn asking_for_the_same_again_and_again_is_a_loop() {
    let ask = json!({"ask": {"kind": "execute", "rawInput": {"command": "touch out.txt"}}});
    let yard = coder(&json!(vec![ask; 20]));
    let output = yard.run("outer", json!({"phase": "explore"})).await;
    assert_eq!(
        (words(&output, "category"), words(&output, "detector")),
        ("loop", "repeated_calls"),
        "{output}"
    );
    assert!(heard(&yard, "permission").len() < 10);
}
