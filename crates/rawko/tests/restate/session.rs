//! The interactive session of a task whose instances live on Restate.

use std::fs;

use rawko_testkit::RestateOptions;

use crate::pty::Pty;
use crate::support::{Site, directory, free_address};

const SIZE: (u16, u16) = (100, 30);

const SETTINGS: &str = "\
governance: {allow: ['agent:*']}
providers: {default: demo/x, demo: {kind: scripted, file: .rawko/script.yaml}}
memories: {remember: false}
phases: {validate: {checks: []}}
permissions: {ask: ['Bash(touch:*)']}
";

const AGENT: &str =
    "---\nname: worker\nwhenToUse: Always.\ntransitions: {onSuccess: complete}\n---\nYou are the worker.\n";

const SCRIPT: &str = r#"
- agent: worker
  steps:
    - text: I make the file.
      tool_calls: [{name: Bash, input: {command: touch made.txt}}]
    - text: It is there.
"#;

#[test]
fn a_second_terminal_joins_a_task_of_a_worker() {
    let project = directory(&[
        (".rawko/config.yaml", SETTINGS),
        (".rawko/script.yaml", SCRIPT),
        (".rawko/agents/worker.md", AGENT),
    ]);
    let site = Site::new(project.path(), &RestateOptions::default());
    let worker = site.ready_worker(&free_address(), "worker");
    let start = |words: &[&str]| Pty::of(site.place.command(words), SIZE);
    let mut first = start(&["task", "Do it", "--id", "t", "--agent", "worker"]);
    first.wait_for("deny with a reason");
    let mut second = start(&["attach", "t"]);
    let shown = second.wait_for("deny with a reason");
    for wanted in ["● worker", "I make the file.", "? Run `touch made.txt`"] {
        assert!(shown.contains(wanted), "{wanted}\n{shown}");
    }
    // The first terminal dies; the task lives with the worker.
    first.kill();
    second.press("y");
    let (code, text) = second.end();
    assert_eq!(code, Some(0), "{text}\n{}", worker.said());
    for wanted in ["allowed by", "✓ Bash touch made.txt", "It is there.", "complete  after 1 iteration"] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    assert!(fs::exists(project.path().join("made.txt")).unwrap());
}
