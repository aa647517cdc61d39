//! Steering a task: messages, the end of a turn, pause and resume, commands, and follow-ups.

use std::fs;

use serde_json::Value as Json;

use super::{SIZE, one_worker, task};
use crate::pty::Pty;
use crate::support::run;

/// The first completion takes long enough to type; the next request contains the message.
const STEERED: &str = r#"
- agent: worker
  steps:
    - delay_ms: 3000
      tool_calls: [{name: Read, input: {path: stock.py}}]
    - expect: "take the short way"
      text: I take the short way.
"#;

/// Ends without a tool call, so that the message is read although the model meant to stop.
const STOPPING: &str = r#"
- agent: worker
  steps:
    - {delay_ms: 3000, text: Done.}
    - expect: "one more thing"
      text: Did one more thing.
"#;

const SLOW: &str = r#"
- agent: worker
  steps:
    - {delay_ms: 60000, text: Never.}
"#;

/// The stopped completion is asked for again after the message.
const INTERRUPTED: &str = r#"
- agent: worker
  steps:
    - delay_ms: 4000
      tool_calls: [{name: Read, input: {path: stock.py}}]
    - text: Did the other thing.
"#;

const TWICE: &str = r#"
- agent: worker
  steps:
    - {text: First part done.}
    - expect: "and now the second part"
      text: Second part done.
"#;

#[test]
fn a_message_is_read_before_the_next_completion() {
    for (script, message, end) in [
        (STEERED, "take the short way", "I take the short way."),
        (STOPPING, "one more thing", "Did one more thing."),
    ] {
        let dir = one_worker("", script);
        let mut pty = task(&dir, &[]);
        pty.wait_for("thinking");
        pty.press(&format!("{message}\r"));
        pty.wait_for(&format!("› {message}"));
        let (code, text) = pty.end();
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains(end), "{text}");
        let history = run(dir.path(), &["history", "t", "--json"], "");
        assert!(history.stdout.contains(message), "the message is in the journal");
    }
}

#[test]
fn ctrl_c_pauses_and_the_session_continues_or_ends() {
    let dir = one_worker("", STEERED);
    let mut pty = task(&dir, &[]);
    pty.wait_for("thinking");
    pty.press("\u{3}");
    pty.wait_for("Enter: continue");
    pty.press("take the short way\r");
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");

    let dir = one_worker("", SLOW);
    let mut pty = task(&dir, &[]);
    pty.wait_for("thinking");
    pty.press("\u{3}");
    pty.wait_for("paused");
    pty.press("\u{3}");
    let (code, text) = pty.end();
    assert_eq!(code, Some(130), "{text}");
    assert!(text.contains("rawko resume t"), "{text}");
    let listed = run(dir.path(), &["ps"], "");
    assert!(listed.stdout.contains("paused"), "{}", listed.stdout);
    let mut again = Pty::start(dir.path(), &["resume", "t"], SIZE);
    again.wait_for("thinking");
    again.press("/pause\r");
    again.wait_for("Enter: continue");
    again.press("/exit\r");
    assert_eq!(again.end().0, Some(130));
}

#[test]
fn escape_stops_the_turn_and_the_next_message_continues_it() {
    let dir = one_worker("", INTERRUPTED);
    let mut pty = task(&dir, &[]);
    pty.wait_for("thinking");
    pty.press("\u{1b}");
    pty.wait_for("type what to do instead");
    pty.press("do the other thing\r");
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("Did the other thing."), "{text}");
    let all: Json = serde_json::from_str(&run(dir.path(), &["ps", "--all", "--json"], "").stdout).unwrap();
    let agent = all["instances"].as_array().unwrap().iter().find(|row| row["agent"] == "worker").unwrap();
    let shown = run(dir.path(), &["show", agent["id"].as_str().unwrap(), "--json"], "").stdout;
    let shown: Json = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["context"]["heard"], 1);
    assert!(shown["context"]["messages"][1].to_string().contains("do the other thing"), "{shown}");
}

/// The command would run for an hour.
const STUCK: &str = r#"
- agent: worker
  steps:
    - tool_calls: [{name: Bash, input: {command: "echo begun; sleep 3600"}}, {name: Write, input: {path: a.txt, content: x}}]
    - expect: look elsewhere
      text: I look elsewhere.
"#;

#[test]
fn escape_stops_a_running_call_and_the_model_reads_so() {
    let dir = one_worker("", STUCK);
    let mut pty = task(&dir, &[]);
    pty.wait_for("⎿ begun");
    pty.press("\u{1b}");
    pty.wait_for_all(&["type what to do instead", "✗ Bash echo begun", "✗ Write a.txt"]);
    pty.press("look elsewhere\r");
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("I look elsewhere."), "{text}");
    let shown = run(dir.path(), &["show", "t.worker.1.2", "--json"], "").stdout;
    let shown: Json = serde_json::from_str(&shown).unwrap();
    let results = shown["context"]["messages"][2]["parts"].as_array().unwrap();
    assert!(results.len() == 2 && results.iter().all(|result| result["is_error"] == true), "{shown}");
    assert!(results[0]["content"].as_str().unwrap().starts_with("The person interrupted"), "{shown}");
}

/// A slow command shows its last line while it runs, without its colours.
const NOISY: &str = r#"
- agent: worker
  steps:
    - tool_calls: [{name: Bash, input: {command: sh build.sh}}]
    - text: Built.
"#;
const BUILD: &str = r"
printf '\033[1mfirst\033[0m\n\033[32mbuilding\033[0m the third part\n'
until [ -e go ]; do sleep 0.1; done
";

#[test]
fn a_slow_command_shows_its_last_line() {
    let dir = one_worker("", NOISY);
    fs::write(dir.path().join("build.sh"), BUILD).unwrap();
    let mut pty = task(&dir, &[]);
    pty.wait_for("⎿ building the third part");
    fs::write(dir.path().join("go"), "").unwrap();
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("✓ Bash sh build.sh — first (+1 line)"), "{text}");
}

#[test]
fn commands_are_completed_and_explained() {
    let dir = one_worker("", SLOW);
    let mut pty = task(&dir, &[]);
    pty.wait_for("thinking");
    // The menu is there while a command is typed.
    pty.press("/p");
    pty.wait_for_all(&["› /pause  pause the task", "  /plan   print the plan"]);
    pty.press("\u{1b}[B");
    pty.wait_for("› /plan   print the plan");
    pty.press("\t\r");
    pty.wait_for("there is no plan yet");
    pty.wait_for("› /plan");
    // An unfinished name that can mean one command only.
    pty.press("/hel\r");
    pty.wait_for("skip the current step");
    pty.press("/nonsense\r");
    pty.wait_for("unknown command /nonsense");
    pty.press("/cancel\r");
    let (code, text) = pty.end();
    assert_eq!(code, Some(1), "{text}");
}

#[test]
fn a_finished_task_is_continued_with_its_conversation() {
    let dir = one_worker("", TWICE);
    let (code, text) = task(&dir, &[]).end();
    assert_eq!(code, Some(0), "{text}");
    let args = ["task", "--continue", "t", "and now the second part", "--agent", "worker", "--id", "t2"];
    let (code, text) = Pty::start(dir.path(), &args, SIZE).end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("Second part done."), "{text}");
    let piped = run(dir.path(), &["task", "--continue"], "");
    assert_eq!(piped.code, Some(2), "{}", piped.stderr);
    assert!(piped.stderr.contains("t2 has ended"), "{}", piped.stderr);
}

#[test]
fn a_paused_task_is_continued_with_a_message() {
    let dir = one_worker("", STEERED);
    let mut pty = task(&dir, &[]);
    pty.wait_for("thinking");
    pty.press("\u{3}");
    pty.wait_for("Enter: continue");
    pty.press("\u{3}");
    assert_eq!(pty.end().0, Some(130));
    let continued = run(dir.path(), &["task", "--continue", "t", "take the short way"], "");
    assert_eq!(continued.code, Some(0), "{}{}", continued.stdout, continued.stderr);
    assert!(continued.stdout.contains("I take the short way."), "{}", continued.stdout);
}
