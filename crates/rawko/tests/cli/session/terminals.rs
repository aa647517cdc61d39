//! Terminals of a session: two at once, narrow ones, a resize, and the ends that leave no time to clean up.

use std::process::Command;

use super::{SIZE, one_worker, task};
use crate::pty::Pty;

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
    let shown = second.wait_for("deny with a reason");
    assert!(shown.contains("I make the file") && shown.contains("? Run `touch made.txt`"), "{shown}");
    second.press("y");
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
    let shown = pty.wait_for("allow once");
    assert!(shown.lines().all(|line| line.chars().count() <= 20), "{shown}");
    assert!(shown.contains("touch"), "{shown}");
    pty.press("y");
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
        let screen = pty.screen();
        assert_eq!(screen.matches("› half a sen").count(), 1, "{screen}");
        assert_eq!(screen.matches("thinking").count(), 1, "{screen}");
    }
    pty.press("\u{15}/cancel\r");
    pty.end();
}

#[test]
fn sigterm_restores_the_terminal() {
    let dir = one_worker("", SLOW);
    let mut pty = task(&dir, &[]);
    pty.wait_for("thinking");
    assert!(!pty.is_restored());
    assert!(Command::new("kill").arg(pty.pid().to_string()).status().unwrap().success());
    let (code, text) = pty.end();
    assert_eq!(code, Some(143), "{text}");
}
