//! What a person says to a task, while it works and while nobody runs it.

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

/// What a person sends to a task at work, from another process, and what becomes of it.
#[test]
fn a_task_at_work_hears_what_a_person_says() {
    let done = "transitions: {onSuccess: complete}\n";
    let table: [(&str, &[&str], &str); 4] = [
        ("cancelled", &["CANCEL"], "cancelled"),
        ("another agent", &["FORCE_AGENT", "--data", r#"{"agentName": "other"}"#], "complete"),
        (
            "nobody of that name",
            &["FORCE_AGENT", "--data", r#"{"agentName": "nobody"}"#, "--no-wait"],
            "executing",
        ),
        ("forgotten", &["RESET"], "idle"),
    ];
    for (name, event, expected) in table {
        let dir = project(SETTINGS, &[agent("worker", ""), agent("other", done)], SLOW);
        let (mut child, _out) = running(dir.path(), &["task", "Do it", "--id", "t"], 5);
        let sent = run(dir.path(), &[&["send", "t"], event].concat(), "");
        assert_eq!(sent.code, Some(0), "{name}: {}{}", sent.stdout, sent.stderr);
        assert_eq!(configuration(dir.path(), "t"), format!("[\"{expected}\"]"), "{name}");
        child.kill().unwrap();
        child.wait().unwrap();
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

/// The same on a task that nobody runs: it waits for a provider that asked for patience.
#[test]
fn a_parked_task_hears_what_a_person_says() {
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
