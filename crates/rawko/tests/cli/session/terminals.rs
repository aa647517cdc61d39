//! Terminals of a session: two at once, narrow ones, a resize, and the ends that leave no time to clean up.

use std::process::Command;

use super::{SIZE, one_worker, task};
use crate::pty::Pty;
use crate::support::command;

const ASKS: &str = "permissions: {ask: ['Bash(touch:*)']}\n";

const TOUCH: &str = r#"
- agent: worker
  steps:
    - text: I make the file with a sentence that is longer than a narrow terminal is wide.
      tool_calls: [{name: Bash, input: {command: touch made.txt}}]
    - text: It is there.
"#;

const SLOW: &str = "- agent: worker\n  steps:\n    - {delay_ms: 60000, text: Never.}\n";

#[test]
fn a_second_terminal_sees_the_same_and_answers() {
    let dir = one_worker(ASKS, TOUCH);
    let mut first = task(&dir, &[]);
    first.wait_for("deny with a reason");
    let mut second = Pty::start(dir.path(), &["attach", "t"], SIZE);
    second.wait_for_all(&["deny with a reason", "I make the file", "? Run `touch made.txt`"]);
    second.choose("y");
    let (code, text) = first.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("It is there."), "{text}");
    let (code, text) = second.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("It is there."), "{text}");
}

#[test]
fn a_terminal_of_twenty_columns_shows_the_prompt() {
    let dir = one_worker(ASKS, TOUCH);
    let args = ["task", "Do it", "--id", "t", "--agent", "worker"];
    let mut pty = Pty::start(dir.path(), &args, (20, 24));
    pty.wait_for_all(&["allow once", "touch"]);
    let shown = pty.text();
    assert!(shown.lines().all(|line| line.chars().count() <= 20), "{shown}");
    pty.choose("y");
    assert_eq!(pty.end().0, Some(0));
}

#[test]
fn a_resize_redraws_the_area_and_keeps_the_input() {
    let dir = one_worker("", SLOW);
    let mut pty = task(&dir, &[]);
    pty.wait_for("thinking");
    pty.press("half a sen");
    pty.wait_for("› half a sen");
    for (columns, rows) in [(40, 12), (100, 30), (24, 8)] {
        pty.resize(columns, rows);
        pty.press("t");
        pty.wait_for("› half a sent");
        pty.press("\u{7f}");
        pty.wait_while("› half a sent");
        // A redraw may be on its way.
        pty.wait_until("one area", |pty| {
            let screen = pty.screen();
            ["› half a sen", "thinking"].iter().all(|part| screen.matches(part).count() == 1)
        });
    }
    pty.press("\u{15}/cancel\r");
    pty.end();
}

#[test]
fn sigterm_restores_the_terminal() {
    let dir = one_worker("shutdown: {grace: 500ms}\n", SLOW);
    let mut pty = task(&dir, &[]);
    pty.wait_for("thinking");
    assert!(!pty.is_restored());
    assert!(Command::new("kill").arg(pty.pid().to_string()).status().unwrap().success());
    let (code, text) = pty.end();
    assert_eq!(code, Some(143), "{text}");
}

/// A shell with job control, as a person has it.
#[test]
fn ctrl_z_suspends_and_fg_continues() {
    let dir = one_worker("", SLOW);
    let mut shell = command(dir.path(), &[]);
    let rawko = shell.get_program().to_owned();
    let environment: Vec<_> =
        shell.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
    shell = Command::new("setsid");
    shell.args(["-c", "bash", "--norc", "--noprofile", "-i"]).current_dir(dir.path());
    shell.envs(environment).env("PS1", "shell> ").env("RAWKO", rawko);
    let mut pty = Pty::of(shell, SIZE);
    pty.wait_for("shell> ");
    pty.press("$RAWKO task 'Do it' --id t --agent worker\r");
    pty.wait_for("thinking");
    pty.press("half a sen");
    pty.wait_for("› half a sen");
    pty.press("\u{1a}");
    pty.wait_for("Stopped");
    pty.press("stty -a | grep -o ' icanon'; echo $((40 + 2))\r");
    // The shell has its terminal back.
    pty.wait_for_all(&["42", " icanon\n"]);
    pty.press("fg\r");
    pty.wait_until("the session is drawn again", |pty| pty.screen().contains("› half a sen"));
    pty.press("\u{15}/cancel\r");
    pty.wait_for("cancelled");
    pty.press("exit\r");
}

/// A window that is closed hangs up.
#[test]
fn a_terminal_that_hangs_up_leaves_the_task_resumable() {
    let dir = one_worker(ASKS, TOUCH);
    let mut pty = task(&dir, &[]);
    pty.wait_for("deny with a reason");
    assert!(Command::new("kill").args(["-HUP", &pty.pid().to_string()]).status().unwrap().success());
    pty.wait_for_end();
    let mut again = Pty::start(dir.path(), &["resume", "t"], SIZE);
    again.wait_for("deny with a reason");
    again.choose("y");
    let (code, text) = again.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("✓ Bash touch made.txt"), "a call from before the resume is shown\n{text}");
}

#[test]
fn top_pauses_resumes_and_sends_questions_to_the_session() {
    let question = "- agent: worker\n  steps:\n    - tool_calls: [{name: AskUser, input: {question: Which colour?}}]\n    - text: Fine.\n";
    let dir = one_worker("", question);
    let mut first = task(&dir, &[]);
    first.wait_for("Which colour?");
    let mut top = Pty::start(dir.path(), &["top"], SIZE);
    top.wait_for("? Which colour?");
    top.press("p");
    top.wait_for("paused");
    first.wait_for("· paused");
    top.press("r");
    first.wait_while("· paused");
    top.wait_while("paused");
    top.press("y");
    top.wait_for("this is a question; press Enter to answer it");
    top.press("\r");
    top.wait_for("answer:");
    top.reply("blue");
    assert_eq!(first.end().0, Some(0));
    top.wait_for("succeeded");
    top.press("\u{3}");
    assert_eq!(top.end().0, Some(0));
}

#[test]
fn top_approves_nothing_that_is_cut_off() {
    let content: String = (0..60).map(|number| format!("line {number}\\n")).collect();
    let script = format!(
        "- agent: worker\n  steps:\n    \
         - tool_calls: [{{name: Write, input: {{path: big.txt, content: \"{content}\"}}}}]\n    - text: Fine.\n"
    );
    let dir = one_worker("permissions: {ask: ['Write(*)']}\n", &script);
    let mut first = task(&dir, &[]);
    first.wait_for("deny with a reason");
    let mut top = Pty::start(dir.path(), &["top"], SIZE);
    top.wait_for("? Write big.txt");
    top.press("y");
    top.wait_for("does not fit on the screen");
    top.press("n");
    top.wait_for_all(&["line 0", "deny: Write big.txt", "Enter: confirm"]);
    top.press("\r");
    assert_eq!(first.end().0, Some(0));
    assert!(!dir.path().join("big.txt").exists());
    top.press("q");
    assert_eq!(top.end().0, Some(0));
}

#[test]
fn top_lists_tasks_answers_and_opens_them() {
    let dir = one_worker(ASKS, TOUCH);
    let mut first = task(&dir, &[]);
    first.wait_for("deny with a reason");
    let mut top = Pty::start(dir.path(), &["top"], SIZE);
    top.wait_for_all(&["? Run `touch made.txt`", "› t   Do it", "person"]);
    top.press("y");
    top.wait_for("approve: Run `touch made.txt` (t.");
    // Any other key takes it back.
    top.press("x");
    top.wait_while("Enter: confirm");
    top.press("y");
    top.wait_for("Enter: confirm");
    top.press("\r");
    assert_eq!(first.end().0, Some(0));
    top.wait_for("succeeded");
    top.press("\r");
    top.wait_for("complete  after 1 iteration");
    top.press("q");
    assert_eq!(top.end().0, Some(0));
}

#[test]
fn the_interactive_demo_asks_shows_a_diff_and_resumes() {
    let dir = tempfile::TempDir::new().unwrap();
    let mut pty = Pty::start(dir.path(), &["demo", "--interactive", "slugs"], (100, 40));
    pty.wait_for("1  hello-2, then hello-3");
    pty.choose("1");
    pty.wait_for("answered by");
    pty.wait_for("● planner");
    // The developer thinks for some seconds.
    pty.wait_for("Try it now: press Ctrl-C twice.");
    pty.wait_for("developer · demo/scripted · thinking");
    pty.press("\u{3}");
    pty.wait_for("Enter: continue");
    pty.press("\u{3}");
    pty.wait_for("Press Enter to resume it");
    pty.press("\r");
    pty.wait_for("? Write slugs.py");
    pty.wait_for("+import re");
    pty.choose("y");
    pty.wait_for("always allow Bash(python3 -m unittest)");
    pty.choose("a");
    pty.wait_for("? Edit slugs.py");
    pty.choose("y");
    pty.wait_for("? Run `git commit");
    pty.choose("r");
    pty.wait_for("reason:");
    pty.press("I commit it myself\r");
    pty.wait_for("I commit it myself");
    pty.wait_for("Press Enter to see what the task changed.");
    pty.press("\r");
    pty.wait_for("diff --git a/slugs.py b/slugs.py");
    let slugs = dir.path().join("slugs/slugs.py");
    let has_change = || std::fs::read_to_string(&slugs).unwrap().contains("import re");
    pty.wait_for("Press Enter to undo it");
    assert!(has_change());
    pty.press("\r");
    pty.wait_for("Press Enter to restore it.");
    assert!(!has_change());
    pty.press("\r");
    pty.wait_for_all(&["The task is complete.", "added `Bash(python3 -m unittest)`"]);
    assert!(has_change());
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");
    let last = "rawko agents list              list the agents; .rawko/README.md explains how to edit them";
    assert!(text.contains(last), "the list fits the terminal: {text}");
}
