//! The interactive session of a task whose instances live on Restate.

use std::fs;
use std::time::{Duration, SystemTime};

use rawko_testkit::{ModelReply, ProviderServer, ReplyEnding, RestateOptions, openai};
use serde_json::json;

use crate::pty::Pty;
use crate::support::{Site, directory, free_address, wait_for};

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
    - expect: "also say so"
      text: It is there.
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
    second.wait_for_all(&["deny with a reason", "● worker", "I make the file.", "? Run `touch made.txt`"]);
    // The first terminal dies; the task lives with the worker.
    first.kill();
    // The text begins with the key of a choice, and stays text.
    second.wait_until_ready();
    second.press("also say so\r");
    second.wait_for("› also say so");
    second.choose("y");
    let (code, text) = second.end();
    assert_eq!(code, Some(0), "{text}\n{}", worker.said());
    for wanted in ["allowed by", "✓ Bash touch made.txt", "It is there.", "complete  after 1 iteration"] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    assert!(fs::exists(project.path().join("made.txt")).unwrap());
}

/// A model that streams one line and the beginning of another, and then stalls.
fn halting() -> ModelReply {
    let pieces = [
        openai::delta(json!({"role": "assistant", "content": ""})),
        openai::delta(json!({"content": "I read the file first.\n"})),
        openai::delta(json!({"content": "Then I "})),
        openai::delta(json!({"content": "decide"})),
    ];
    ModelReply::events(pieces).ending(ReplyEnding::Silent)
}

#[test]
fn text_of_a_worker_appears_in_terminals_as_it_arrives() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(ProviderServer::new(|_| halting())).unwrap();
    let web = format!("web: {{kind: openai, base_url: \"{}\"}}", server.url());
    let settings = SETTINGS.replace("default: demo/x", &format!("default: web/x, {web}"));
    let project = directory(&[
        (".rawko/config.yaml", &settings),
        (".rawko/script.yaml", "[]\n"),
        (".rawko/agents/worker.md", AGENT),
    ]);
    let site = Site::new(project.path(), &RestateOptions::default());
    let worker = site.ready_worker(&free_address(), "worker");
    let start = |words: &[&str]| Pty::of(site.place.command(words), SIZE);
    let mut first = start(&["task", "Do it", "--id", "t", "--agent", "worker"]);
    first.wait_for("I read the file first.");
    // The line that is still arriving, which no journal has.
    first.wait_for("Then I decide");
    let mut late = start(&["attach", "t"]);
    late.wait_for("Then I decide");
    assert_eq!(
        late.text().matches("I read the file first.").count(),
        1,
        "{}\n{}",
        late.text(),
        worker.said()
    );
    first.press("\u{3}");
    first.wait_for("Enter: continue");
    first.press("\u{3}");
    assert_eq!(first.end().0, Some(130));
}

/// Returns the folder of the project's checkpoints, once there is one.
fn checkpoints(project: &std::path::Path) -> Option<std::path::PathBuf> {
    let projects = fs::read_dir(project.join(".local/state/rawko/projects")).ok()?.flatten();
    projects.map(|entry| entry.path().join("checkpoints")).find(|path| path.is_dir())
}

#[test]
fn a_worker_removes_old_checkpoints_once_a_day() {
    let settings = SETTINGS.replace("permissions: {ask: ['Bash(touch:*)']}\n", "retention: {files: 1ms}\n");
    let script = "- agent: worker\n  steps:\n    - tool_calls: [{name: Write, input: {path: a.txt, content: a}}]\n    \
                  - text: Done.\n";
    let project = directory(&[
        (".rawko/config.yaml", &settings),
        (".rawko/script.yaml", script),
        (".rawko/agents/worker.md", AGENT),
    ]);
    let site = Site::new(project.path(), &RestateOptions::default());
    let address = free_address();
    let worker = site.ready_worker(&address, "worker");
    let done = site.place.run_words(&["task", "Do it", "--id", "old", "--agent", "worker"]);
    assert_eq!(done.code, Some(0), "{done:?}\n{}", worker.said());
    let folder = checkpoints(project.path()).unwrap();
    let entries = || fs::read_dir(folder.join("entries")).unwrap().count();
    assert!(entries() > 1, "{}", entries());
    drop(worker);
    let stamp = folder.join("pruned");
    let two_days_ago = SystemTime::now() - Duration::from_secs(48 * 3600);
    fs::File::create(&stamp).unwrap().set_modified(two_days_ago).unwrap();
    let _worker = site.ready_worker(&address, "worker");
    wait_for("the checkpoints are removed", || entries() == 1);
}
