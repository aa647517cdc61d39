//! Calls that a person is asked about: the rule that "always" adds is about this call and nothing else, and no person is
//! asked about a call that its tool cannot make.

use rawko_core::Value;
use rawko_tools::{Grant, Party, Permissions};
use serde_json::json;

use super::support::Bench;

fn asking(tools: &[&str]) -> Grant {
    let ask = tools.iter().map(|tool| (*tool).to_owned()).collect();
    let set = Permissions { party: Party::Project, ask, ..Permissions::default() };
    Grant { permissions: vec![set], ..Grant::default() }
}

#[test]
fn always_is_about_one_call() {
    let bench = Bench::new();
    bench.write("src/a.rs", "");
    let grant = asking(&["Write", "Edit", "Grep", "Bash", "WebFetch", "Task", "mcp__git"]);
    let here = |path: &str| format!("Edit(/{})", bench.root().join(path).display());
    let table = [
        ("Write", json!({"nonsense": true}), None),
        ("Write", json!({"path": 5, "content": "x"}), None),
        ("Write", json!({"path": "", "content": "x"}), None),
        ("Write", json!({"path": ".", "content": "x"}), None),
        ("Edit", json!({"path": "src"}), None),
        ("Write", json!({"path": "new/", "content": "x"}), None),
        ("Write", json!({"path": "src/../new/.", "content": "x"}), None),
        // Read without its last space, the rule would be about the directory.
        ("Write", json!({"path": "src ", "content": "x"}), None),
        ("Write", json!({"path": "src\\", "content": "x"}), None),
        ("Write", json!({"path": "src/*", "content": "x"}), None),
        ("Grep", json!({"pattern": "x"}), None),
        ("Bash", json!({"command": ""}), None),
        ("Bash", json!({}), None),
        ("WebFetch", json!({}), None),
        ("WebFetch", json!({"url": "nonsense"}), None),
        ("Task", json!({"prompt": "x"}), None),
        ("Task", json!({"agent": " tester"}), None),
        ("Write", json!({"path": "src/a.rs", "content": "x"}), Some(here("src/a.rs"))),
        ("Edit", json!({"path": "new/b.rs"}), Some(here("new/b.rs"))),
        ("Bash", json!({"command": "git push"}), Some("Bash(git push)".to_owned())),
        ("WebFetch", json!({"url": "https://docs.rs/a"}), Some("WebFetch(domain:docs.rs)".to_owned())),
        ("Task", json!({"agent": "tester"}), Some("Task(tester)".to_owned())),
        ("mcp__git__push", json!({}), Some("mcp__git__push".to_owned())),
    ];
    for (tool, input, expected) in table {
        let judgement = bench.toolbox.judge(tool, &Value::from_json(input.clone()), &grant, None);
        assert_eq!(judgement.always, Vec::from_iter(expected), "{tool} {input}");
        assert!(judgement.rule.contains("permissions.ask"), "{tool} {input}: {}", judgement.rule);
    }
}

#[tokio::test]
async fn a_wrong_input_is_named_before_an_approval_is_looked_for() {
    let bench = Bench::new();
    let grant = asking(&["Write"]);
    let wrong = bench.run_in(&grant, "Write", json!({"path": 5})).await;
    assert!(wrong.content.starts_with("the input of `Write` is wrong: "), "{}", wrong.content);
    let right = bench.run_in(&grant, "Write", json!({"path": "a", "content": "x"})).await;
    assert!(right.content.contains("approval_required"), "{}", right.content);
}
