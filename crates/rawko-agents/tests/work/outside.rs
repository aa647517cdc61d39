//! Process agents: their permissions, their reports, and stopping them without losing work.

use std::path::Path;
use std::time::{Duration, Instant};

use rawko_core::{NamedEvent, Value};
use rawko_host::StartOptions;
use serde_json::{Value as Json, json};

use crate::yard::{Yard, exists, yard};

/// A chart that runs `program` with additional keys around it.
pub(crate) fn around(keys: &str) -> String {
    format!(
        "
statechart:
  id: outer
  initial: working
  context: {{prompt: Do it., phase: null, session: null, goal: null, schema: null, topic: null, result: null}}
  states:
    working:
      {keys}
      on: {{LEAVE: left}}
      invoke:
        id: work
        src: agent:program
        input:
          prompt: context.prompt
          phase: context.phase
          session: context.session
          goal: context.goal
          schema: context.schema
          topic: context.topic
        onDone: {{target: done, actions: [{{type: assign, context_updates: {{result: event.data}}}}]}}
        onError: {{target: failed, actions: [{{type: assign, context_updates: {{result: event.data}}}}]}}
    left: {{type: final, output: context.result}}
    done: {{type: final, output: context.result}}
    failed: {{type: final, output: context.result}}
"
    )
}

fn file(more: &str) -> String {
    format!(
        "---\nname: program\nkind: process\ncommand: [python3, program.py]\nwhenToUse: For work.\n{more}---\nYou are a program.\n"
    )
}

/// A project with the agent `program`, which follows the given rounds.
fn program(rounds: &Json) -> Yard {
    program_in("", rounds)
}

fn program_in(keys: &str, rounds: &Json) -> Yard {
    yard("[]")
        .file("program.py", include_str!("program.py"))
        .file("steps.json", &rounds.to_string())
        .file(".rawko/agents/program.md", &file(""))
        .chart(&around(keys))
}

/// Returns the messages of one type sent to the program.
pub(crate) fn heard(yard: &Yard, kind: &str) -> Vec<Json> {
    let lines = std::fs::read_to_string(yard.outside().join("heard.jsonl")).unwrap_or_default();
    let lines = lines.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    lines.filter(|line| line["type"] == kind).collect()
}

fn write(name: &str) -> Json {
    json!({"tool": ["Write", {"path": name, "content": "x"}]})
}

fn done(text: &str) -> Json {
    json!({"done": {"text": text}})
}

pub(crate) fn words<'v>(output: &'v Value, key: &str) -> &'v str {
    output.get(key).as_str().unwrap_or_else(|| panic!("no {key} in {output}"))
}

/// Returns the kinds of parts of the conversation, by message.
fn shape(output: &Value) -> Vec<String> {
    let messages = output.get("messages").to_json();
    let kinds = |message: &Json| {
        let parts = message["parts"].as_array().unwrap().iter();
        let kinds: Vec<&str> = parts.map(|part| part["type"].as_str().unwrap()).collect();
        format!("{}: {}", message["role"].as_str().unwrap(), kinds.join(" "))
    };
    messages.as_array().unwrap().iter().map(kinds).collect()
}

/// Waits for the end of a process; a zombie has ended.
async fn until_dead(pid: u64) {
    tokio::task::spawn_blocking(move || wait_for(pid)).await.unwrap();
}

fn wait_for(pid: u64) {
    let start = Instant::now();
    let is_alive = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    };
    while is_alive() {
        assert!(start.elapsed() < Duration::from_secs(60), "{pid} still runs");
        std::thread::yield_now();
    }
}

/// Governance applies to programs too, and each call is audited before it runs.
#[tokio::test]
async fn each_call_of_a_program_passes_governance_and_is_audited() {
    let rounds =
        json!([[json!({"tool": ["readFile", {"path": "a.txt"}]}), write("out.txt"), done("I tried.")]]);
    let yard = program(&rounds).file("a.txt", "a\n").replace_settings(
        "governance: {allow: ['agent:*', 'checks:*', 'note']}",
        "governance: {allow: ['agent:*'], deny: ['tool:Write']}",
    );
    let (output, audit) = yard.run_audited("outer", json!({})).await;
    assert_eq!(output.get("outcome").as_str(), Some("finished"), "{output}");
    assert!(!exists(&yard.root(), "out.txt"));
    let results = heard(&yard, "tool_result");
    assert!(results[1].to_string().contains("governance.deny"), "{results:?}");
    let lines: Vec<String> =
        audit.iter().map(|line| format!("{} {} {}", line.effect, line.decision, line.service)).collect();
    assert_eq!(
        lines,
        [
            "i/0/0 allowed agent:program",
            "i/0/0/1 admitted tool:Read",
            "i/0/0/2 refused tool:Write",
            "i/0/0 answered agent:program",
        ]
    );
}

#[tokio::test]
async fn a_command_is_an_agent_like_any_other() {
    let rounds = json!([[
        {"say": "let me write"},
        write("out.txt"),
        {"usage": {"input_tokens": 80, "output_tokens": 20, "cost_usd": 0.5}},
        {"done": {"text": "it is written", "data": {"files": 1}, "session": "s-2"}},
    ]]);
    let yard = program(&rounds);
    let output = yard.run("outer", json!({"topic": "trees", "session": "s-1"})).await;
    assert_eq!(words(&output, "outcome"), "finished", "{output}");
    assert_eq!(words(&output, "agent"), "program");
    assert_eq!(words(&output, "text"), "it is written");
    assert_eq!(words(&output, "session"), "s-2");
    assert_eq!(output.get("data").to_json(), json!({"files": 1}));
    assert_eq!(output.get("changes").as_i64(), Some(1));
    assert_eq!(output.get("filesModified").to_json(), json!(["out.txt"]));
    let usage = output.get("usage").to_json();
    assert_eq!(
        (&usage["tokens"], &usage["cost_usd"], &usage["tool_calls"]),
        (&json!(100), &json!(0.5), &json!(1))
    );
    assert_eq!(
        shape(&output),
        ["user: text text", "assistant: text tool_use", "user: tool_result", "assistant: text"]
    );
    assert_eq!(yard.read("out.txt").as_deref(), Some("x"));
    let turn = &heard(&yard, "turn")[0];
    assert_eq!((&turn["session"], &turn["data"]), (&json!("s-1"), &json!({"topic": "trees"})));
    assert_eq!(turn["system"], "You are a program.");
    assert_eq!(turn["prompt"], "Do it.\nInput:\n{\n  \"topic\": \"trees\"\n}");
}

/// Ways to write a file, all of which must fail in a read-only phase.
#[tokio::test]
async fn a_phase_that_looks_refuses_and_says_why() {
    let bash = |command: &str| json!({"tool": ["Bash", {"command": command}]});
    let ways = json!([
        write("out.txt"),
        {"tool": ["writeFile", {"path": "out.txt", "content": "x"}]},
        bash("echo x > out.txt"),
        bash("sh -c 'touch out.txt'"),
        {"tool": ["Task", {"agent": "worker", "prompt": "write out.txt"}]},
    ]);
    let mut steps = ways.as_array().unwrap().clone();
    steps.push(done("I may not"));
    for phase in ["research", "validate", "explore"] {
        let yard = program(&json!([steps]));
        let output = yard.run("outer", json!({"phase": phase})).await;
        assert_eq!(words(&output, "text"), "I may not", "{phase}: {output}");
        assert_eq!(output.get("changes").as_i64(), Some(0), "{phase}");
        assert!(!exists(&yard.root(), "out.txt"), "{phase}");
        let results = heard(&yard, "tool_result");
        assert_eq!(results.len(), 5, "{phase}");
        for (result, way) in results.iter().zip(&steps) {
            assert_eq!(result["is_error"], true, "{phase}: {way}: {result}");
        }
        let first = results[0]["content"].as_str().unwrap();
        assert!(first.contains(&format!("the phase `{phase}`")), "{first}");
        let offered = heard(&yard, "turn")[0]["tools"].to_string();
        assert!(offered.contains("\"Read\"") && !offered.contains("\"Write\""), "{phase}: {offered}");
    }
}

#[tokio::test]
async fn everything_around_it_narrows() {
    let rounds = json!([[write("out.txt"), {"tool": ["Bash", {"command": "touch out.txt"}]}, done("no")]]);
    let table = [
        (
            "the state",
            "tools: {blocked: [Write, Edit]}",
            file(""),
            "the state `working` of the chart `outer`",
        ),
        ("the agent", "", file("tools: {allowed: [Read]}\n"), "the agent `program`"),
    ];
    for (who, keys, agent, words) in table {
        let yard = program_in(keys, &rounds).file(".rawko/agents/program.md", &agent);
        yard.run("outer", json!({})).await;
        assert!(!exists(&yard.root(), "out.txt"), "{who}");
        let result = heard(&yard, "tool_result")[0].to_string();
        assert!(result.contains(words), "{who}: {result}");
    }
}

/// A program started by an agent with a model has no more rights than that agent.
#[tokio::test]
async fn a_program_that_is_sent_has_no_more_rights_than_its_sender() {
    let send = json!([{"name": "Task", "input": {"agent": "program", "prompt": "Write it."}}]);
    let script = json!([{"steps": [{"tool_calls": send}, {"expect": "it was refused", "text": "I see."}]}]);
    let yard = yard(&script.to_string())
        .file("program.py", include_str!("program.py"))
        .file("steps.json", &json!([[write("out.txt"), done("it was refused")]]).to_string())
        .file(".rawko/agents/program.md", &file(""));
    let output = yard.run("one", json!({"phase": "analyze_code"})).await;
    assert_eq!(words(&output, "text"), "I see.", "{output}");
    assert!(heard(&yard, "tool_result")[0].to_string().contains("the phase `analyze_code`"));
    assert!(!exists(&yard.root(), "out.txt"));
}

#[tokio::test]
async fn a_budget_stops_it_before_its_next_tool_and_keeps_the_work() {
    let rounds = json!([[
        {"say": "one"},
        write("1.txt"),
        {"usage": {"input_tokens": 90, "output_tokens": 30, "cost_usd": 0.5}},
        write("2.txt"),
        {"say": " and two"},
        write("3.txt"),
        done("never"),
    ]]);
    let table = [
        ("{tool_calls: 2}", 2, "budget.tool_calls"),
        ("{tokens: 100}", 1, "budget.tokens"),
        ("{cost_usd: 0.5}", 1, "budget.cost_usd"),
    ];
    for (budget, calls, part) in table {
        let yard = program_in(&format!("budget: {budget}"), &rounds);
        let output = yard.run("outer", json!({})).await;
        assert_eq!(words(&output, "category"), "limit", "{budget}: {output}");
        assert_eq!(words(&output, "outcome"), "limit_reached", "{budget}");
        assert!(words(&output, "message").contains(part), "{budget}: {output}");
        assert!(words(&output, "text").starts_with("one"), "{budget}");
        assert_eq!(output.get("usage").get("tool_calls").as_i64(), Some(calls), "{budget}");
        assert_eq!(output.get("usage").get("tokens").as_i64(), Some(120), "{budget}");
        let written = (1..=3).filter(|number| yard.read(&format!("{number}.txt")).is_some()).count();
        assert_eq!(i64::try_from(written), Ok(calls), "{budget}");
        assert!(shape(&output).len() >= 3, "{budget}: {output}");
        let told = heard(&yard, "tool_result").pop().unwrap().to_string();
        assert!(told.contains("used up"), "{budget}: {told}");
    }
}

/// The timeout is long enough for a slow machine to start the program.
async fn check_time(keys: &str, agent: &str) {
    let rounds = json!([[{"say": "working"}, write("1.txt"), {"hang": null}]]);
    let yard = program_in(keys, &rounds).file(".rawko/agents/program.md", &file(agent));
    let output = yard.run("outer", json!({})).await;
    assert_eq!(words(&output, "category"), "limit", "{output}");
    assert!(words(&output, "message").contains("time"), "{output}");
    assert_eq!(words(&output, "text"), "working");
    assert_eq!(output.get("changes").as_i64(), Some(1));
    assert!(exists(&yard.root(), "1.txt"));
    assert!(output.get("usage").get("time_ms").as_i64() >= Some(6_000), "{output}");
    until_dead(heard(&yard, "turn")[0]["pid"].as_u64().unwrap()).await;
}

#[tokio::test]
async fn a_budget_of_time_ends_it_and_keeps_the_work() {
    check_time("budget: {time: 6s}", "").await;
}

#[tokio::test]
async fn its_own_time_limit_ends_it_and_keeps_the_work() {
    check_time("", "limits: {timeout: 6s}\n").await;
}

#[tokio::test]
async fn leaving_the_state_ends_it() {
    let yard = program(&json!([[{"say": "working"}, {"hang": null}]]));
    let host = yard.host().await;
    let mut progress = host.progress();
    let start = StartOptions { chart: "outer".into(), input: json!({}).into(), id: Some("i".into()) };
    host.start(start).await.unwrap();
    let told = tokio::time::timeout(Duration::from_secs(60), progress.recv()).await.unwrap().unwrap();
    assert_eq!((&*told.name, &*told.id), ("agent:program", "work"));
    assert_eq!(told.data.to_json(), json!({"type": "text_delta", "text": "working"}));
    host.send("i", NamedEvent::new("LEAVE", Value::Null), None).await.unwrap();
    until_dead(heard(&yard, "turn")[0]["pid"].as_u64().unwrap()).await;
    host.close().await;
}

#[tokio::test]
async fn whatever_goes_wrong_is_told_with_the_work_so_far() {
    let say = json!({"say": "so far"});
    let table = [
        ("crash", json!({"crash": 3}), "failed", "ended", "exit code 3"),
        ("last words", json!({"crash": 3}), "failed", "ended", "panic: index out of range"),
        ("no protocol", json!({"raw": "hello"}), "invalid_answer", "malformed", "`hello`"),
        (
            "network",
            json!({"error": {"code": "network_error", "message": "gone"}}),
            "network",
            "network_error",
            "gone",
        ),
        ("its own", json!({"error": {"message": "I give up"}}), "failed", "unknown", "I give up"),
        (
            "filter",
            json!({"done": {"stop_reason": "content_filter"}}),
            "failed",
            "content_filter",
            "filtered",
        ),
    ];
    for (case, step, category, code, message) in table {
        let output = program(&json!([[say, step]])).run("outer", json!({})).await;
        assert_eq!(words(&output, "outcome"), "failed", "{case}: {output}");
        assert_eq!(words(&output, "category"), category, "{case}");
        assert_eq!(words(&output, "code"), code, "{case}");
        assert!(words(&output, "message").contains(message), "{case}: {output}");
        assert_eq!(words(&output, "text"), "so far", "{case}");
        assert!(output.get("usage").get("tokens").as_i64() > Some(0), "{case}");
    }
    let missing = file("").replace("python3", "no-such-program");
    let yard = program(&json!([[]])).file(".rawko/agents/program.md", &missing);
    let output = yard.run("outer", json!({})).await;
    assert_eq!((words(&output, "category"), words(&output, "code")), ("failed", "not_started"), "{output}");
}

#[tokio::test]
async fn going_round_is_noticed_and_stopped() {
    let read = json!({"tool": ["Read", {"path": "a.txt"}]});
    let yard = program(&json!([vec![read; 20]])).file("a.txt", "a\n").settings("loop: {notice_after: 2}\n");
    let output = yard.run("outer", json!({})).await;
    assert_eq!(words(&output, "category"), "loop", "{output}");
    assert_eq!(words(&output, "outcome"), "loop_detected");
    assert_eq!(words(&output, "detector"), "repeated_calls");
    let results: Vec<String> = heard(&yard, "tool_result").iter().map(Json::to_string).collect();
    assert!(results[1].contains("2 times in a row"), "{}", results[1]);
    assert!(results[4].contains("was not run"), "{}", results[4]);
    assert!(results.len() < 10, "{}", results.len());
    assert!(!output.get("memory").is_null());
}

#[tokio::test]
async fn stopping_without_what_the_phase_needs_is_challenged() {
    let rounds =
        json!([[{"done": {"text": "all is well", "session": "s-1"}}], [write("out.txt"), done("now it is")]]);
    let yard = program(&rounds);
    let output = yard.run("outer", json!({"phase": "implement"})).await;
    assert_eq!((words(&output, "outcome"), words(&output, "text")), ("finished", "now it is"), "{output}");
    let second = &heard(&yard, "turn")[1];
    assert!(
        second["prompt"].as_str().unwrap().starts_with("You stopped, but no file was changed"),
        "{second}"
    );
    assert_eq!(second["session"], "s-1");
    assert_eq!(second["messages"].as_array().unwrap().len(), 2, "{second}");

    let yard = program(&json!([[done("all is well")]]));
    let output = yard.run("outer", json!({"phase": "implement"})).await;
    assert_eq!((words(&output, "category"), words(&output, "code")), ("failed", "goal_missed"), "{output}");
    assert_eq!(heard(&yard, "turn").len(), 4);
}

#[tokio::test]
async fn an_answer_must_fit_its_schema() {
    let schema = json!({"type": "object", "required": ["ok"]});
    let rounds = json!([[done("fine")], [{"done": {"data": {"ok": true}}}]]);
    let yard = program(&rounds);
    let output = yard.run("outer", json!({"schema": schema})).await;
    assert_eq!(output.get("data").to_json(), json!({"ok": true}), "{output}");
    let turns = heard(&yard, "turn");
    assert_eq!(turns[0]["schema"], schema);
    assert!(turns[1]["prompt"].as_str().unwrap().contains("there is no JSON"), "{}", turns[1]);
    let output = program(&json!([[done("fine")]])).run("outer", json!({"schema": schema})).await;
    assert_eq!(words(&output, "category"), "invalid_answer", "{output}");
}

#[tokio::test]
async fn a_directory_that_leads_out_is_not_worked_in() {
    let yard = program(&json!([[done("never")]])).file(".rawko/agents/program.md", &file("cwd: link\n"));
    std::os::unix::fs::symlink(Path::new("/tmp"), yard.root().join("link")).unwrap();
    let output = yard.run("outer", json!({})).await;
    assert!(words(&output, "message").contains("is outside the project"), "{output}");
}
