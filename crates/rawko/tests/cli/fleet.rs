//! Many agents in one fan-out with the real binary, whose host is killed again and again: no finished agent is started
//! again, none is lost, and results are in order. `RAWKO_FLEET=1000` runs a long one (`cargo xtask nightly fleet`).
//! Each test pins a behaviour that users of other tools have reported as missing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::queue::until;
use crate::support::{command, run};
use crate::tasks::project::{agent, lines, project};

const SETTINGS: &str = "\
governance: {allow: ['agent:*']}
providers: {default: demo/x, demo: {kind: scripted, file: .rawko/script.yaml}}
";

/// Agents of a usual test run.
const AGENTS: usize = 24;

fn chart(agents: usize) -> String {
    let at_once = (agents / 60).max(4);
    format!(
        "statechart:
  id: fleet
  version: 1.0.0
  initial: working
  context: {{texts: null}}
  states:
    working:
      invoke:
        id: jobs
        src: agent:worker
        each: range({agents})
        max_concurrent: {at_once}
        join: settled
        input: {{prompt: \"'part ' ~ item ~ '.'\"}}
        onDone: {{target: done, actions: [{{type: assign, context_updates: {{texts: \"pluck(pluck(event.data, 'data'), 'text')\"}}}}]}}
        onError: failed
    done: {{type: final, output: {{texts: context.texts}}}}
    failed: {{type: final, tags: [error], output: event.data}}
"
    )
}

/// Each agent writes a line, waits a moment and answers with its number.
fn fleet(agents: usize, delay_ms: u64) -> TempDir {
    let script: Vec<Json> = (0..agents)
        .map(|number| {
            let call = json!([{"name": "Bash", "input": {"command": format!("echo {number} >> ran.txt")}}]);
            json!({"agent": "worker", "when": format!("part {number}."), "steps": [
                {"tool_calls": call, "delay_ms": delay_ms},
                {"text": format!("result {number}"), "delay_ms": delay_ms},
            ]})
        })
        .collect();
    let dir = project(SETTINGS, &[agent("worker", "")], &Json::from(script).to_string());
    fs::write(dir.path().join("fleet.yaml"), chart(agents)).unwrap();
    dir
}

fn ran(dir: &Path) -> Vec<String> {
    let text = fs::read_to_string(dir.join("ran.txt")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Starts a command and kills it once `until` more lines were written, or after a while. Returns false if it ended before.
fn killed(dir: &Path, args: &[&str], until: usize) -> bool {
    let enough = ran(dir).len() + until;
    let mut child =
        command(dir, args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while ran(dir).len() < enough && begun.elapsed() < Duration::from_secs(20) {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    true
}

/// Asserts what holds for every run to the end, however often it was interrupted.
fn check(dir: &Path, agents: usize) {
    let shown = run(dir, &["show", "f", "--json"], "");
    let shown: Json = serde_json::from_str(&shown.stdout).unwrap();
    let expected: Vec<String> = (0..agents).map(|number| format!("result {number}")).collect();
    assert_eq!(shown["output"]["texts"], json!(expected), "results are lost or out of order");
    let history = run(dir, &["history", "f", "--json", "--limit", "0"], "").stdout;
    let mut started: BTreeMap<String, usize> = BTreeMap::new();
    for line in lines(&history).iter().filter(|line| line["type"] == "invoked" && line["id"] == "f") {
        *started.entry(line["invoke"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    assert_eq!(started.len(), agents, "{started:?}");
    assert!(started.values().all(|count| *count == 1), "an agent was started again: {started:?}");
    let mut calls: BTreeMap<String, usize> = BTreeMap::new();
    for number in ran(dir) {
        *calls.entry(number).or_default() += 1;
    }
    assert!(calls.values().all(|count| *count == 1), "a tool call was repeated: {calls:?}");
}

#[test]
fn a_killed_host_starts_no_finished_agent_again() {
    let agents: usize =
        std::env::var("RAWKO_FLEET").ok().and_then(|count| count.parse().ok()).unwrap_or(AGENTS);
    let dir = fleet(agents, 20);
    let dir = dir.path();
    let mut kills = usize::from(killed(dir, &["run", "fleet.yaml", "--id", "f"], 3));
    while killed(dir, &["resume", "f"], (agents / 40).max(3)) {
        kills += 1;
        assert!(kills < agents + 10, "it does not come to an end");
    }
    check(dir, agents);
    assert!(kills > 0, "it ended before it was killed");
    println!("fleet: {agents} agents, {kills} kills");
}

/// A pause is not an end: finished agents stay finished, and stopped calls continue.
#[test]
fn a_paused_fleet_continues_where_it_was() {
    let dir = fleet(8, 100);
    let dir = dir.path();
    let mut child = command(dir, &["run", "fleet.yaml", "--id", "f"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("an item ran", || !ran(dir).is_empty());
    run(dir, &["pause", "f"], "");
    child.wait().unwrap();
    let resumed = run(dir, &["resume", "f"], "");
    assert_eq!(resumed.code, Some(0), "{}{}", resumed.stdout, resumed.stderr);
    check(dir, 8);
}

/// Results of calls that ran at the same time survive a kill: only the call that had none is repeated or reported.
#[test]
fn tool_calls_with_a_result_are_not_repeated_after_a_kill() {
    let steps = json!([
        {"tool_calls": [
            {"name": "Read", "input": {"path": "a.txt"}},
            {"name": "Bash", "input": {"command": "cat gate"}},
            {"name": "Glob", "input": {"pattern": "*.txt"}},
        ]},
        {"text": "result 0"},
    ]);
    let script = json!([{"agent": "worker", "steps": steps}]);
    let dir = project(SETTINGS, &[agent("worker", "")], &script.to_string());
    let dir = dir.path();
    fs::write(dir.join("fleet.yaml"), chart(1)).unwrap();
    fs::write(dir.join("a.txt"), "a\n").unwrap();
    // A pipe without a writer holds the command.
    assert!(std::process::Command::new("mkfifo").arg(dir.join("gate")).status().unwrap().success());
    let mut child = command(dir, &["run", "fleet.yaml", "--id", "f"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let answered = || {
        let audit = run(dir, &["logs", "--audit", "--json"], "").stdout;
        let all = lines(&audit).into_iter().filter(|line| line["decision"] == "answered");
        all.filter_map(|line| line["service"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    until("two tools answered", || answered().iter().filter(|name| name.starts_with("tool:")).count() >= 2);
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_file(dir.join("gate")).unwrap();
    let resumed = run(dir, &["resume", "f"], "");
    assert_eq!(resumed.code, Some(0), "{}{}", resumed.stdout, resumed.stderr);
    let names = answered();
    for (tool, count) in [("tool:Read", 1), ("tool:Glob", 1), ("work:collect", 1)] {
        assert_eq!(names.iter().filter(|name| *name == tool).count(), count, "{tool}: {names:?}");
    }
    let text = run(dir, &["history", "f", "--json", "-v"], "").stdout;
    assert!(text.contains("result 0"), "{text}");
}

/// A denied call stays denied: neither a resume nor a lost host makes it.
#[test]
fn a_denied_approval_is_not_skipped_by_a_resume() {
    let calls = json!([
        {"name": "Read", "input": {"path": "stock.py"}},
        {"name": "Bash", "input": {"command": "touch x"}},
        {"name": "Read", "input": {"path": "test_stock.py"}},
    ]);
    let script = json!([{"agent": "worker", "steps": [{"tool_calls": calls}, {"text": "result 0", "delay_ms": 1500}]}]);
    let settings = format!("{SETTINGS}permissions: {{ask: ['Bash(touch:*)']}}\n");
    let dir = project(&settings, &[agent("worker", "")], &script.to_string());
    let dir = dir.path();
    fs::write(dir.join("fleet.yaml"), chart(1)).unwrap();
    assert_eq!(run(dir, &["run", "fleet.yaml", "--id", "f"], "").code, Some(55), "it waits for a person");
    // The host is lost right after the answer.
    let mut child = command(dir, &["deny", "f", "--comment", "not now"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let denied = || run(dir, &["logs", "--audit", "--json"], "").stdout.contains("\"denied\"");
    let begun = Instant::now();
    while !denied() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    child.wait().unwrap();
    run(dir, &["resume", "f"], "");
    assert!(!dir.join("x").exists(), "a denied call was made");
    let shown = run(dir, &["show", "f", "--json"], "").stdout;
    assert!(shown.contains("result 0"), "{shown}");
}

/// A failed agent counts as failed after a lost host and a resume, and its neighbours keep their results.
#[test]
fn failed_items_are_not_reported_as_completed_after_a_resume() {
    let agents = 6;
    let script: Vec<Json> = (0..agents)
        .map(|number| {
            let call = json!([{"name": "Bash", "input": {"command": format!("echo {number} >> ran.txt")}}]);
            let last = match number % 2 {
                0 => json!({"text": format!("result {number}"), "delay_ms": 50}),
                _ => json!({"error": {"code": "invalid_request", "message": "refused"}}),
            };
            json!({"agent": "worker", "when": format!("part {number}."), "steps": [{"tool_calls": call}, last]})
        })
        .collect();
    let dir = project(SETTINGS, &[agent("worker", "")], &Json::from(script).to_string());
    let dir = dir.path();
    let statuses =
        chart(agents).replace("pluck(pluck(event.data, 'data'), 'text')", "pluck(event.data, 'status')");
    fs::write(dir.join("fleet.yaml"), statuses).unwrap();
    if killed(dir, &["run", "fleet.yaml", "--id", "f"], 3) {
        while killed(dir, &["resume", "f"], agents + 1) {}
    }
    let shown: Json = serde_json::from_str(&run(dir, &["show", "f", "--json"], "").stdout).unwrap();
    let expected: Vec<&str> =
        (0..agents).map(|number| if number % 2 == 0 { "done" } else { "error" }).collect();
    assert_eq!(shown["output"]["texts"], json!(expected), "{shown}");
}
