//! Requests of a task that are answered in place: permissions, questions, approvals and forms.

use std::fs;

use super::{SIZE, one_worker, task};
use crate::pty::Pty;
use crate::support::run;

const ASKS: &str = "permissions: {ask: ['Bash(touch:*)']}\n";

const TOUCH: &str = r#"
- agent: worker
  steps:
    - text: I make the file.
      tool_calls: [{name: Bash, input: {command: touch made.txt}}]
    - text: It is **there**.
"#;

/// The model's next request contains the reason.
const DENIED: &str = r#"
- agent: worker
  steps:
    - tool_calls: [{name: Bash, input: {command: touch made.txt}}]
    - expect: "use the folder out"
      text: I use the folder.
"#;

const QUESTION: &str = r#"
- agent: worker
  steps:
    - tool_calls: [{name: AskUser, input: {question: Which colour?, options: [red, blue]}}]
    - expect: "The person answered: blue"
      tool_calls: [{name: AskUser, input: {question: And which name?}}]
    - expect: "The person answered: Ada L."
      text: Blue it is.
"#;

#[test]
fn a_permission_is_asked_for_and_given() {
    let dir = one_worker(ASKS, TOUCH);
    let mut pty = task(&dir, &[]);
    pty.wait_for("deny with a reason");
    pty.wait_for_all(&[
        "? Run `touch made.txt`",
        "  y  allow once",
        "  n  deny",
        "● worker",
        "I make the file.",
    ]);
    assert!(!dir.path().join("made.txt").exists());
    pty.choose("y");
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(dir.path().join("made.txt").exists());
    let asked = text.find("? Run `touch made.txt` — allowed by ").unwrap_or_else(|| panic!("{text}"));
    assert!(text.find("● worker").is_some_and(|agent| agent < asked), "below its agent\n{text}");
    for wanted in ["✓ Bash touch made.txt", "It is there.", "complete  after 1 iteration"] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    assert!(!text.contains("Ctrl-C: pause"), "the live area is removed\n{text}");
}

/// A file whose lines begin with tabs and are wider than the terminal.
#[test]
fn a_person_can_read_all_that_is_asked_for() {
    let line = |number: usize| format!("\\t\\tx{number} {}end{number};\\n", "wide ".repeat(20));
    let content: String = (0..60).map(line).collect();
    let option = "an option that is so long that it does not fit into one line of this terminal at all";
    let script = format!(
        "- agent: worker\n  steps:\n    \
         - tool_calls: [{{name: Write, input: {{path: main.go, content: \"{content}\"}}}}]\n    \
         - tool_calls: [{{name: AskUser, input: {{question: Which?, options: [\"{option}\"]}}}}]\n    \
         - text: Done.\n"
    );
    let dir = one_worker("permissions: {ask: ['Write(*)']}\n", &script);
    let mut pty = task(&dir, &[]);
    pty.wait_until_ready();
    let screen = pty.screen();
    assert!(screen.contains("end0;") && screen.contains("more lines (Ctrl-O prints all)"), "{screen}");
    assert!(!pty.text().contains("end59;"), "{}", pty.text());
    pty.press("\u{f}");
    pty.wait_for_all(&["end31;", "end59;"]);
    pty.wait_until("one request", |pty| pty.screen().matches("? Write main.go").count() == 1);
    pty.choose("y");
    pty.wait_for("terminal at all");
    pty.choose("1");
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");
    let told = run(dir.path(), &["history", "t"], "").stdout;
    assert!(told.contains("allowed  by ") && told.contains(&format!(": {option}")), "{told}");
    let told = run(dir.path(), &["history", "t.worker.1.2"], "").stdout;
    assert!(told.contains("allowed  by ") && !told.contains("context"), "{told}");
    let shown = run(dir.path(), &["show", "t.worker.1.2"], "").stdout;
    assert!(shown.contains("says       Done.") && !shown.contains("messages:"), "{shown}");
}

/// Each invisible character is shown as six letters, which pushed the end of the line off the screen.
#[test]
fn invisible_characters_hide_no_part_of_a_command() {
    for hidden in [r"\u200b", r"\u0007", r"\u001b"] {
        let command = format!("touch made.txt {} && touch evil.txt", hidden.repeat(25));
        let script = format!(
            "- agent: worker\n  steps:\n    - tool_calls: [{{name: Bash, input: {{command: \"{command}\"}}}}]\n    \
             - text: Denied.\n"
        );
        let dir = one_worker(ASKS, &script);
        let mut pty = task(&dir, &[]);
        pty.wait_until_ready();
        let screen = pty.screen();
        assert_eq!(screen.matches("evil.txt").count(), 2, "in the title and below it\n{screen}");
        assert!(!screen.contains('…'), "nothing is cut\n{screen}");
        assert_eq!(screen.replace(['\n', ' '], "").matches(hidden).count(), 50, "{screen}");
        pty.choose("n");
        assert_eq!(pty.end().0, Some(0));
    }
}

#[test]
fn a_denial_with_a_reason_is_read_by_the_model() {
    let dir = one_worker(ASKS, DENIED);
    let mut pty = task(&dir, &[]);
    pty.wait_for("deny with a reason");
    pty.choose("r");
    pty.wait_for("reason:");
    pty.press("use the folder out\r");
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("? Run `touch made.txt` — denied by ") && text.contains(": use the folder out"),
        "{text}"
    );
    assert!(text.contains("I use the folder."), "{text}");
    assert!(!dir.path().join("made.txt").exists());
}

#[test]
fn always_writes_a_rule_that_the_person_can_see() {
    let dir = one_worker(ASKS, TOUCH);
    let mut pty = task(&dir, &[]);
    pty.wait_for("always allow");
    pty.choose("a");
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");
    let settings = fs::read_to_string(dir.path().join(".config/rawko/config.yaml")).unwrap();
    assert!(settings.contains("touch made.txt"), "{settings}");
}

#[test]
fn questions_are_answered_with_a_choice_or_a_text() {
    let dir = one_worker("", QUESTION);
    let mut pty = task(&dir, &[]);
    pty.wait_for("2  blue");
    pty.choose("2");
    pty.wait_for("And which name?");
    // A command is not taken for the answer.
    pty.wait_until_ready();
    pty.press("/cost");
    pty.wait_for("Enter: run the command");
    pty.press("\r");
    pty.wait_for("  worker  demo/x");
    pty.reply("Ada L.");
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");
    // The questions stay readable beside their answers.
    for wanted in ["? Which colour? — answered by ", ": blue", "? And which name? — answered by ", ": Ada L."]
    {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    assert!(text.contains("Blue it is."), "{text}");
}

#[test]
fn without_a_terminal_a_question_waits_or_is_refused() {
    let dir = one_worker("", QUESTION);
    let waits = run(dir.path(), &["task", "Do it", "--id", "t", "--agent", "worker"], "");
    assert_eq!(waits.code, Some(55), "{}{}", waits.stdout, waits.stderr);
    assert!(waits.stderr.contains("Which colour?"), "{}", waits.stderr);
    let answered = run(dir.path(), &["approve", "t", "--data", "answer=blue"], "");
    assert_eq!(answered.code, Some(0), "{}{}", answered.stdout, answered.stderr);
    // It is followed in the words of the task.
    assert!(
        answered.stdout.contains("answered by ") && !answered.stdout.contains('['),
        "{}",
        answered.stdout
    );
    let shown = run(dir.path(), &["show", "t"], "");
    assert!(shown.stdout.contains("And which name?"), "{}", shown.stdout);
    let refused = "
- agent: worker
  steps:
    - tool_calls: [{name: AskUser, input: {question: Which colour?}}]
    - expect: this run does not wait for a person
      text: I choose red.
";
    let dir = one_worker("", refused);
    let args = ["task", "Do it", "--agent", "worker", "--permission-mode", "deny"];
    let refused = run(dir.path(), &args, "");
    assert_eq!(refused.code, Some(0), "{}{}", refused.stdout, refused.stderr);
}

#[test]
fn a_prompt_that_is_open_when_the_terminal_dies_is_open_after_resume() {
    let dir = one_worker(ASKS, TOUCH);
    let mut pty = task(&dir, &[]);
    pty.wait_for("deny with a reason");
    pty.kill();
    let mut again = Pty::start(dir.path(), &["resume", "t"], SIZE);
    again.wait_for_all(&["deny with a reason", "? Run `touch made.txt`"]);
    again.choose("y");
    let (code, text) = again.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(dir.path().join("made.txt").exists());
}

#[test]
fn a_pipe_sees_plain_text() {
    let dir = one_worker(ASKS, TOUCH);
    let piped = run(dir.path(), &["task", "Do it", "--id", "t", "--agent", "worker"], "");
    assert_eq!(piped.code, Some(55));
    assert!(!piped.stdout.contains('\u{1b}') && !piped.stderr.contains('\u{1b}'), "{}", piped.stdout);
    let dir = one_worker(ASKS, TOUCH);
    let pty = task(&dir, &["--no-input"]);
    let (code, text) = pty.end();
    assert_eq!(code, Some(55), "{text}");
    assert!(text.contains("rawko approve"), "{text}");
}
