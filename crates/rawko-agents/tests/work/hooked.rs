//! Hooks of Claude Code's settings hold for rawko's own agents: real commands, started by the launcher, with Claude Code's
//! JSON.

use serde_json::{Value as Json, json};

use crate::yard::{Yard, exists, yard};

/// Writes down what it gets, refuses files that end in `.lock`, and adds text after a write.
const HOOK: &str = r#"
import json, sys
call = json.load(sys.stdin)
path = call["tool_input"].get("file_path", "")
with open("hooks.jsonl", "a") as file:
    file.write(json.dumps(call) + "\n")
if call["hook_event_name"] == "PreToolUse" and path.endswith(".lock"):
    print("lock files are generated", file=sys.stderr)
    sys.exit(2)
if call["hook_event_name"] == "PostToolUse":
    answer = {"hookEventName": "PostToolUse", "additionalContext": "run the formatter"}
    print(json.dumps({"hookSpecificOutput": answer}))
"#;

fn project(path: &str, hooks: &Json) -> Yard {
    let call = json!([{"name": "Write", "input": {"path": path, "content": "x"}}]);
    let script = json!([{"steps": [{"tool_calls": call}, {"text": "I see."}]}]).to_string();
    yard(&script)
        .file(".claude/hooks/guard.py", HOOK)
        .file(".claude/settings.json", &json!({"model": "opus", "hooks": hooks}).to_string())
}

fn command(matcher: &str) -> Json {
    let command = "python3 \"$CLAUDE_PROJECT_DIR\"/.claude/hooks/guard.py";
    json!([{"matcher": matcher, "hooks": [{"type": "command", "command": command, "timeout": 60}]}])
}

fn received(yard: &Yard) -> Vec<Json> {
    let text = yard.read("hooks.jsonl").unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_hook_refuses_a_call_and_the_agent_gets_the_reason() {
    let yard = project("Cargo.lock", &json!({"PreToolUse": command("Edit|Write")}));
    let output = yard.run("one", json!({})).await;
    assert_eq!(output.get("outcome").as_str(), Some("finished"), "{output}");
    assert!(!exists(&yard.root(), "Cargo.lock"));
    let prompt = yard.last_prompt();
    assert!(prompt.contains("lock files are generated") && prompt.contains("hook_denied"), "{prompt}");
    assert!(prompt.contains("`hooks.PreToolUse` of .claude/settings.json"), "{prompt}");
    let calls = received(&yard);
    assert_eq!(calls[0]["tool_name"], "Write");
    let path = calls[0]["tool_input"]["file_path"].as_str().unwrap();
    assert!(path.starts_with('/') && path.ends_with("/Cargo.lock"), "{path}");
}

#[tokio::test]
async fn a_hook_after_a_call_adds_its_words_to_the_result() {
    let hooks = json!({"PreToolUse": command("*"), "PostToolUse": command("Write")});
    let yard = project("out.txt", &hooks);
    yard.run("one", json!({})).await;
    assert!(exists(&yard.root(), "out.txt"));
    assert!(yard.last_prompt().contains("run the formatter"), "{}", yard.last_prompt());
    let events: Vec<Json> = received(&yard).into_iter().map(|call| call["hook_event_name"].clone()).collect();
    assert_eq!(events, ["PreToolUse", "PostToolUse"]);
}

#[tokio::test]
async fn hooks_of_other_tools_and_rawkos_own_do_not_run() {
    let own = json!([{"hooks": [{"type": "command", "command": "rawko hook --chart x || exit 2"}]}]);
    let mut all = command("Bash").as_array().unwrap().clone();
    all.extend(own.as_array().unwrap().clone());
    let yard = project("a.lock", &json!({"PreToolUse": all}));
    yard.run("one", json!({})).await;
    assert!(exists(&yard.root(), "a.lock"));
    assert_eq!(received(&yard), Vec::<Json>::new());
}

/// A hook that cannot decide may have been meant to refuse.
#[tokio::test]
async fn a_hook_that_does_not_end_refuses() {
    let slow = json!([{"matcher": "", "hooks": [{"type": "command", "command": "sleep 600", "timeout": 1}]}]);
    let yard = project("out.txt", &json!({"PreToolUse": slow}));
    yard.run("one", json!({})).await;
    assert!(!exists(&yard.root(), "out.txt"));
    assert!(yard.last_prompt().contains("did not answer"), "{}", yard.last_prompt());
}
