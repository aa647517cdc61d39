//! A task that another process hosts, and a prompt that outlives its terminal: on the page, and in every terminal.

use serde_json::Value as Json;

use super::{SIZE, one_worker, task};
use crate::pty::Pty;
use crate::serving::{ask, serve};
use crate::support::run;
use crate::tasks::project::{SETTINGS, agent, project};

const ASKS: &str = "permissions: {ask: ['Bash(touch:*)']}\n";

const TOUCH: &str = r#"
- agent: worker
  steps:
    - text: I make the file.
      tool_calls: [{name: Bash, input: {command: touch made.txt}}]
    - text: It is there.
"#;

/// Returns the pending requests that the page shows.
fn approvals(dir: &std::path::Path, serving: &crate::parking::Background) -> Vec<Json> {
    let (status, body) = ask(dir, serving, "GET", "/v1/approvals", "");
    assert_eq!(status, 200, "{body}");
    serde_json::from_str::<Json>(&body).unwrap()["approvals"].as_array().unwrap().clone()
}

#[test]
fn a_prompt_of_a_dead_terminal_is_open_on_the_page_and_in_attached_terminals() {
    let dir = one_worker(ASKS, TOUCH);
    let mut first = task(&dir, &[]);
    first.wait_for("deny with a reason");
    first.kill();

    let serving = serve(dir.path());
    let open = approvals(dir.path(), &serving);
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!(open[0]["input"]["command"], "touch made.txt", "{open:?}");

    // Two terminals join the task of the server, and see the same.
    let mut terminals = joined(dir.path());
    // A restart of the server leaves the request open, and the terminals do not take the store from it.
    serving.signal("-KILL");
    serving.end();
    for terminal in terminals {
        let (code, text) = terminal.end();
        assert_eq!(code, Some(3), "{text}");
        assert!(text.contains("rawko resume t"), "{text}");
    }
    let serving = serve(dir.path());
    assert_eq!(approvals(dir.path(), &serving).len(), 1);
    terminals = joined(dir.path());
    terminals[1].choose("y");
    for terminal in terminals {
        let (code, text) = terminal.end();
        assert_eq!(code, Some(0), "{text}");
        for wanted in ["allowed by", "✓ Bash touch made.txt", "It is there.", "complete  after 1 iteration"]
        {
            assert!(text.contains(wanted), "{wanted}\n{text}");
        }
    }
    assert!(dir.path().join("made.txt").exists());
    serving.signal("-TERM");
    serving.end();
}

/// Joins the task from two terminals, which show the same.
fn joined(dir: &std::path::Path) -> [Pty; 2] {
    let mut terminals = [0, 1].map(|_| Pty::start(dir, &["attach", "t"], SIZE));
    for terminal in &mut terminals {
        terminal.wait_for("deny with a reason");
        terminal.wait_for_all(&["● worker", "I make the file.", "? Run `touch made.txt`", "  y  allow once"]);
    }
    terminals
}

const TEAM: &str = r#"
- agent: worker
  steps:
    - tool_calls:
        - {name: Task, input: {agent: left, prompt: Do the left part}}
        - {name: Task, input: {agent: right, prompt: Do the right part}}
    - text: Both are done.
- agent: left
  steps:
    - tool_calls: [{name: Bash, input: {command: touch left.txt}}]
    - text: Left.
- agent: right
  steps:
    - tool_calls: [{name: Bash, input: {command: touch right.txt}}]
    - text: Right.
"#;

#[test]
fn several_requests_wait_in_one_list() {
    let agents =
        [agent("worker", "transitions: {onSuccess: complete}\n"), agent("left", ""), agent("right", "")];
    let dir = project(&format!("{SETTINGS}{ASKS}"), &agents, TEAM);
    let mut pty = task(&dir, &[]);
    let shown = pty.wait_for("1 more waiting (Tab: next)");
    let (first, second) = match shown.contains("? Run `touch left.txt`") {
        true => ("left", "right"),
        false => ("right", "left"),
    };
    assert!(shown.contains(&format!("· Run `touch {second}.txt`")), "{shown}");
    pty.press("\t");
    pty.wait_for(&format!("? Run `touch {second}.txt`"));
    pty.wait_for(&format!("· Run `touch {first}.txt`"));
    pty.choose("n");
    // The list is shorter, and the other request is shown.
    pty.wait_while("more waiting");
    pty.wait_until("the other request", |pty| pty.screen().contains(&format!("? Run `touch {first}.txt`")));
    pty.choose("y");
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(dir.path().join(format!("{first}.txt")).exists());
    assert!(!dir.path().join(format!("{second}.txt")).exists());
}

#[test]
fn a_task_that_waits_is_shown_in_words() {
    let dir = one_worker(ASKS, TOUCH);
    let parked = run(dir.path(), &["task", "Do it", "--id", "t", "--agent", "worker"], "");
    assert_eq!(parked.code, Some(55));
    let shown = run(dir.path(), &["show", "t"], "").stdout;
    for text in [&parked.stderr, &shown] {
        assert!(text.contains("Run `touch made.txt`") && text.contains("rawko approve t"), "{text}");
        assert!(!text.contains("{\"") && !text.contains("…\""), "no JSON: {text}");
    }
}
