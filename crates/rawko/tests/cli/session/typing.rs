//! Typing at a request: text stays text, and a request is answered only by keys that were meant for it.

use super::{SIZE, one_worker, task};
use crate::pty::Pty;
use crate::support::run;

const ASKS: &str = "permissions: {ask: ['Bash(touch:*)']}\n";

/// The model's next request contains the message.
const STEERED: &str = r#"
- agent: worker
  steps:
    - tool_calls: [{name: Bash, input: {command: touch made.txt}}]
    - expect: "actually yes, no rush"
      text: I take my time.
"#;

/// The first completion takes long enough to begin a text.
const LATE: &str = r#"
- agent: worker
  steps:
    - delay_ms: 2500
      tool_calls: [{name: Bash, input: {command: touch made.txt}}]
    - expect: "yes and also the tests"
      text: Not made.
"#;

const LATE_QUESTION: &str = r#"
- agent: worker
  steps:
    - delay_ms: 2500
      tool_calls: [{name: AskUser, input: {question: Delete everything?, options: [delete, keep]}}]
    - expect: "delete the cache, too"
      text: I keep it.
"#;

#[test]
fn text_that_begins_with_the_key_of_a_choice_is_a_message() {
    let dir = one_worker(ASKS, STEERED);
    let mut pty = task(&dir, &[]);
    pty.wait_until_ready();
    pty.press("a");
    pty.wait_for("Enter: confirm");
    pty.press("ctually yes, no rush");
    pty.wait_for("Enter: send the text to the agent");
    pty.press("\r");
    pty.wait_for("› actually yes, no rush");
    assert!(!dir.path().join("made.txt").exists());
    pty.choose("y");
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("I take my time.") && dir.path().join("made.txt").exists(), "{text}");
    let settings = std::fs::read_to_string(dir.path().join(".config/rawko/config.yaml")).unwrap_or_default();
    assert!(!settings.contains("touch"), "no rule was added: {settings}");
}

#[test]
fn a_text_that_was_begun_before_the_request_answers_nothing() {
    let dir = one_worker(ASKS, LATE);
    let mut pty = task(&dir, &[]);
    pty.wait_for("thinking");
    pty.press("y");
    pty.wait_for("› y");
    pty.wait_for("deny with a reason");
    // One key of a choice, typed before: neither an answer nor a message.
    pty.press("\r");
    pty.wait_for("`y` was not typed as an answer");
    assert!(!dir.path().join("made.txt").exists());
    pty.press("yes and also the tests\r");
    pty.wait_for("› yes and also the tests");
    pty.choose("n");
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("denied by") && !dir.path().join("made.txt").exists(), "{text}");
}

#[test]
fn a_message_does_not_become_the_answer_to_a_question() {
    let dir = one_worker("", LATE_QUESTION);
    let mut pty = task(&dir, &[]);
    pty.wait_for("thinking");
    pty.press("delete the cache, ");
    pty.wait_for("› delete the cache,");
    pty.wait_for("? Delete everything?");
    pty.press("too\r");
    pty.wait_for("› delete the cache, too");
    pty.wait_for("Delete everything?");
    pty.choose("2");
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("? Delete everything? — answered by ")
            && text.contains(": keep")
            && text.contains("I keep it."),
        "{text}"
    );
}

#[test]
fn enter_alone_and_keys_typed_ahead_answer_nothing() {
    let dir = one_worker(ASKS, STEERED);
    let parked = run(dir.path(), &["task", "Do it", "--id", "t", "--agent", "worker"], "");
    assert_eq!(parked.code, Some(55), "{}", parked.stderr);
    // Typed before the session reads keys.
    let mut pty = Pty::start(dir.path(), &["resume", "t"], SIZE);
    pty.press("y\r");
    pty.wait_until_ready();
    assert!(!dir.path().join("made.txt").exists());
    pty.press("\r");
    pty.wait_for("choose or type an answer, then press Enter");
    // An arrow selects the first choice, Escape takes it back.
    pty.press("\u{1b}[B");
    pty.wait_until("a selected choice", |pty| pty.screen().contains("› y  allow once"));
    pty.press("\u{1b}");
    pty.wait_while("› y  allow once");
    pty.press("\u{1b}[A");
    pty.wait_until("the last choice", |pty| pty.screen().contains("› r  deny with a reason"));
    pty.press("\u{1b}[A");
    pty.wait_until("the one before", |pty| pty.screen().contains("› n  deny"));
    assert!(!dir.path().join("made.txt").exists());
    pty.press("\u{15}");
    pty.wait_while("› n  deny");
    pty.press("actually yes, no rush\r");
    pty.wait_for("› actually yes, no rush");
    pty.choose("n");
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(!dir.path().join("made.txt").exists());
}
