//! Hooks of Claude Code's settings hold for rawko's own agents: real commands, started by the launcher, with Claude Code's
//! JSON.

use std::time::Duration;

use rawko_core::Value;
use rawko_host::{PersonAnswer, SettleReason, StartOptions};
use rawko_store::Filter;
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

/// A hook with this answer.
fn answering(event: &str, matcher: &str, answer: &Json) -> Json {
    let command = format!("cat >> hooks.jsonl; echo >> hooks.jsonl; echo '{answer}'");
    json!({event: [{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}]})
}

fn asking(matcher: &str) -> Json {
    let answer = json!({"permissionDecision": "ask", "permissionDecisionReason": "it is Friday"});
    answering("PreToolUse", matcher, &json!({"hookSpecificOutput": answer}))
}

/// Runs the chart `one` until it waits for a person, answers, and returns the output and the audit.
async fn answered(yard: &Yard, approved: bool) -> (Value, String) {
    let host = yard.host().await;
    let start = StartOptions { chart: "one".into(), input: json!({}).into(), id: Some("i".into()) };
    host.start(start).await.unwrap();
    let settled = host.settled("i", Duration::from_secs(60)).await.unwrap();
    assert!(matches!(&settled, SettleReason::Waiting(activity) if activity.person), "{settled:?}");
    assert!(!exists(&yard.root(), "out.txt"), "not before the answer");
    let rows = host.reader().store().list(&Filter::default()).unwrap().rows;
    let waiting = rows.iter().map(|row| row.new.id.to_string()).find(|id| id.starts_with("i.worker"));
    let by = Some("ada".into());
    let data = Value::Null;
    let answer = PersonAnswer { approved, by, claimed: None, asked_ms: None, comment: None, data };
    host.answer(&waiting.unwrap(), None, answer).await.unwrap();
    let settled = host.settled("i", Duration::from_secs(60)).await.unwrap();
    assert!(matches!(settled, SettleReason::Over(_)), "one answer is enough: {settled:?}");
    let output = host.results("i").unwrap().output;
    let audit = host.reader().store().audit(None, usize::MAX).unwrap();
    host.close().await;
    (output, format!("{audit:?}"))
}

/// The call of a hook that asks waits for a person, as one that a rule asks about.
#[tokio::test]
async fn a_hook_that_asks_parks_the_call() {
    for approved in [true, false] {
        let yard = project("out.txt", &asking("Write"));
        let (output, audit) = answered(&yard, approved).await;
        let basis = "asked by `hooks.PreToolUse` of .claude/settings.json";
        assert_eq!(audit.contains(basis), approved, "{audit}");
        assert_eq!(output.get("outcome").as_str(), Some("finished"), "{output}");
        assert_eq!(exists(&yard.root(), "out.txt"), approved);
        assert_eq!(yard.last_prompt().contains("ada denied this call"), !approved, "{}", yard.last_prompt());
    }
}

/// Reads run together; those that a hook asks about wait one after the other.
#[tokio::test]
async fn a_hook_that_asks_about_reads_parks_them_too() {
    let read = json!({"name": "Read", "input": {"path": "a.txt"}});
    let script = json!([{"steps": [{"tool_calls": [read, read]}, {"text": "I see."}]}]).to_string();
    let settings = json!({"hooks": asking("Read")}).to_string();
    let yard = yard(&script).file("a.txt", "a").file(".claude/settings.json", &settings);
    let host = yard.host().await;
    let start = StartOptions { chart: "one".into(), input: json!({}).into(), id: Some("i".into()) };
    host.start(start).await.unwrap();
    let settled = host.settled("i", Duration::from_secs(60)).await.unwrap();
    assert!(matches!(&settled, SettleReason::Waiting(activity) if activity.person), "{settled:?}");
    host.close().await;
    // Without a person the call is refused.
    let refused = yard.settings("permissions: {mode: deny}\n");
    refused.run("one", json!({})).await;
    assert!(refused.last_prompt().contains("does not wait for one"), "{}", refused.last_prompt());
}

/// No tool runs a sub-agent: its hooks decide beside the rules.
#[tokio::test]
async fn hooks_decide_on_sub_agents() {
    let call = json!([{"name": "Task", "input": {"agent": "helper", "prompt": "Help."}}]);
    let script = json!([
        {"agent": "worker", "steps": [{"tool_calls": call}, {"text": "I see."}]},
        {"agent": "helper", "steps": [{"text": "I helped."}]},
    ]);
    let helper = "---\nname: helper\nwhenToUse: To help.\n---\nYou help.\n";
    let hooks = |hooks: &Json| {
        let settings = json!({"hooks": hooks}).to_string();
        yard(&script.to_string())
            .file(".rawko/agents/helper.md", helper)
            .file(".claude/settings.json", &settings)
    };
    let deny = answering("PreToolUse", "Agent", &json!({"decision": "block", "reason": "alone"}));
    let yard = hooks(&deny);
    yard.run("one", json!({})).await;
    assert!(yard.last_prompt().contains("refused: alone"), "{}", yard.last_prompt());
    let yard = hooks(&asking("Task"));
    answered(&yard, true).await;
    assert!(yard.last_prompt().contains("I helped."), "{}", yard.last_prompt());
    // Without a person the call is refused.
    let refused = hooks(&asking("Task")).settings("permissions: {mode: deny}\n");
    refused.run("one", json!({})).await;
    assert!(refused.last_prompt().contains("does not wait for one"), "{}", refused.last_prompt());
}

/// An agent that stops continues with the reason of a hook; the hook learns that it is not the first time.
#[tokio::test]
async fn a_stop_hook_keeps_the_agent_at_work() {
    let hook = "import json, sys\ncall = json.load(sys.stdin)\nopen('hooks.jsonl', 'a').write(json.dumps(call) + '\\n')\nif not call['stop_hook_active']:\n    print(json.dumps({'decision': 'block', 'reason': 'write the changelog'}))\n";
    let hooks = json!({"Stop": [{"hooks": [{"type": "command", "command": "python3 .claude/stop.py"}]}]});
    let script = json!([{"steps": [{"text": "Done."}, {"text": "Really done."}]}]).to_string();
    let yard = yard(&script)
        .file(".claude/stop.py", hook)
        .file(".claude/settings.json", &json!({"hooks": hooks}).to_string());
    let output = yard.run("one", json!({})).await;
    assert_eq!(output.get("text").as_str(), Some("Really done."), "{output}");
    assert!(yard.last_prompt().contains("write the changelog"), "{}", yard.last_prompt());
    let calls = received(&yard);
    let active: Vec<&Json> = calls.iter().map(|call| &call["stop_hook_active"]).collect();
    assert_eq!(active, [&json!(false), &json!(true)]);
    assert_eq!(
        (&calls[0]["hook_event_name"], &calls[0]["last_assistant_message"]),
        (&json!("Stop"), &json!("Done."))
    );
}

/// A hook that never agrees does not keep an agent for ever.
#[tokio::test]
async fn a_stop_hook_objects_a_few_times_only() {
    let steps: Vec<Json> = (0..12).map(|number| json!({"text": format!("Done {number}.")})).collect();
    let never = answering("Stop", "", &json!({"decision": "block", "reason": "more"}));
    let script = json!([{"steps": steps}]).to_string();
    let yard = yard(&script).file(".claude/settings.json", &json!({"hooks": never}).to_string());
    let output = yard.run("one", json!({})).await;
    assert_eq!(output.get("text").as_str(), Some("Done 8."), "{output}");
}

#[tokio::test]
async fn a_hook_refuses_a_prompt_or_adds_to_it() {
    let script = json!([{"steps": [{"text": "I see."}]}]).to_string();
    let hooked = |answer: &Json| {
        let hooks = answering("UserPromptSubmit", "", answer);
        yard(&script).file(".claude/settings.json", &json!({"hooks": hooks}).to_string())
    };
    let refusing = hooked(&json!({"decision": "block", "reason": "it has a secret"}));
    let output = refusing.run("one", json!({})).await;
    assert!(output.to_string().contains("it has a secret") && refusing.asked().is_empty(), "{output}");
    assert_eq!(received(&refusing)[0]["prompt"], "Do it.");
    let adding = hooked(&json!({"hookSpecificOutput": {"additionalContext": "Today is Friday."}}));
    adding.run("one", json!({})).await;
    assert!(adding.last_prompt().contains("Today is Friday."), "{}", adding.last_prompt());
}
