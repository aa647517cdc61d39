//! Messages of a person to a task, while it runs and while it is parked.

use std::io::BufRead;
use std::path::Path;
use std::process::Child;

use serde_json::Value as Json;
use tempfile::TempDir;

use super::project::{SETTINGS, agent, configuration, project, running};
use crate::support::run;

pub(crate) const SLOW: &str = r#"
- {agent: arbiter, data: {type: SELECT_MODE, mode: worker, reason: begin}}
- agent: worker
  steps:
    - tool_calls: [{name: PlanWrite, input: {goal: g, steps: [{id: a, title: Look}, {id: b, title: Mend}]}}]
    - {delay_ms: 60000, text: never}
- {agent: other, text: I did it.}
"#;

/// A plan exists, and the worker's first response takes very long.
const PLANNED: &str = r#"
- {agent: arbiter, when: "arbiter#1", data: {type: SELECT_MODE, mode: planner, reason: begin}}
- {agent: arbiter, data: {type: SELECT_MODE, mode: worker, reason: go on}}
- agent: planner
  steps:
    - tool_calls: [{name: PlanWrite, input: {goal: g, steps: [{id: a, title: Look}, {id: b, title: Mend}]}}]
    - text: Two steps.
- {agent: worker, when: "worker#2", delay_ms: 600000, text: never}
- {agent: worker, text: Done.}
- {agent: other, text: I did it.}
"#;

/// Returns a task whose worker is running, and the process that hosts it.
fn at_work() -> (TempDir, Child, impl BufRead) {
    let done = "transitions: {onSuccess: complete}\n";
    let agents = [agent("planner", ""), agent("worker", done), agent("other", done)];
    let dir = project(SETTINGS, &agents, PLANNED);
    let (child, mut out) = running(dir.path(), &["task", "Do it", "--id", "t"], 1);
    let mut line = String::new();
    while !line.contains("→        worker") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "it ended before the worker was chosen");
    }
    (dir, child, out)
}

/// Returns the states, the history and the plan of the task.
fn shown(dir: &Path) -> String {
    let shown: Json = serde_json::from_str(&run(dir, &["show", "t", "--json"], "").stdout).unwrap();
    let context = &shown["context"];
    let done = |entry: &Json| format!("{} {}", entry["agent"], entry["result"]).replace('"', "");
    let done: Vec<String> = context["history"].as_array().unwrap().iter().map(done).collect();
    let steps = context["plan"]["steps"].as_array().cloned().unwrap_or_default();
    let steps: Vec<&str> = steps.iter().map(|step| step["status"].as_str().unwrap()).collect();
    let states = shown["configuration"].to_string().replace('"', "");
    format!("{states} {}: {} | {}", context["iterationCount"], done.join(", "), steps.join(" "))
}

/// A person sends events to a task from another process: while it runs, and after its host was killed.
#[test]
fn a_task_hears_what_a_person_says_at_work_and_parked() {
    let other = r#"{"agentName": "other"}"#;
    let table: [(&str, &[&str], &str); 7] = [
        ("ends", &["CANCEL"], "[cancelled] 2: planner success, worker cancelled | pending pending"),
        ("is forgotten", &["RESET"], "[idle] 0:  | "),
        (
            "another agent",
            &["FORCE_AGENT", "--data", other],
            "[complete] 3: planner success, worker cancelled, other success | pending pending",
        ),
        (
            "nobody of that name",
            &["FORCE_AGENT", "--data", r#"{"agentName": "nobody"}"#, "--no-wait"],
            "[executing] 2: planner success | pending pending",
        ),
        ("nobody at all", &["FORCE_AGENT", "--no-wait"], "[executing] 2: planner success | pending pending"),
        (
            "without a step",
            &["SKIP_STEP"],
            "[complete] 3: planner success, worker cancelled, worker success | skipped pending",
        ),
        (
            "the same again",
            &["RETRY"],
            "[complete] 3: planner success, worker cancelled, worker success | pending pending",
        ),
    ];
    for (name, event, expected) in table {
        for is_parked in [false, true] {
            let (dir, mut child, _out) = at_work();
            if is_parked {
                child.kill().unwrap();
                child.wait().unwrap();
            }
            let sent = run(dir.path(), &[&["send", "t"], event].concat(), "");
            assert_eq!(sent.code, Some(0), "{name}, parked {is_parked}: {}{}", sent.stdout, sent.stderr);
            assert_eq!(shown(dir.path()), expected, "{name}, parked {is_parked}");
            let _ = child.kill();
            child.wait().unwrap();
        }
    }
}

const WAITING: &str = r#"
- agent: arbiter
  steps:
    - {error: {code: rate_limited, retry_after_ms: 3600000}}
    - {data: {type: SELECT_MODE, mode: worker, reason: begin}}
- agent: worker
  text: Done.
- {agent: other, text: I did it.}
"#;

/// The same for a task that waits because its provider asked for a delay.
#[test]
fn a_waiting_task_hears_what_a_person_says() {
    let done = "transitions: {onSuccess: complete}\n";
    let settings = format!("{SETTINGS}task: {{back_off_longest: 2h}}\n");
    let table: [(&str, &[&str], &str); 6] = [
        ("waits no longer", &["RETRY"], "complete"),
        ("cancelled", &["CANCEL"], "cancelled"),
        ("another agent", &["FORCE_AGENT", "--data", r#"{"agentName": "other"}"#], "complete"),
        ("nobody of that name", &["FORCE_AGENT", "--data", r#"{"agentName": "nobody"}"#], "backing_off"),
        ("no step to skip", &["SKIP_STEP"], "backing_off"),
        ("forgotten", &["RESET"], "idle"),
    ];
    for (name, event, expected) in table {
        let dir = project(&settings, &[agent("worker", done), agent("other", done)], WAITING);
        let parked = run(dir.path(), &["task", "Do it", "--id", "t"], "");
        assert_eq!(parked.code, Some(55), "{name}: {}{}", parked.stdout, parked.stderr);
        let sent = run(dir.path(), &[&["send", "t"], event].concat(), "");
        assert_eq!(sent.code, Some(0), "{name}: {}{}", sent.stdout, sent.stderr);
        assert_eq!(configuration(dir.path(), "t"), format!("[\"{expected}\"]"), "{name}");
    }
}
