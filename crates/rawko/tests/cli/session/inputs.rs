//! What a person types: several lines, files, commands for the shell, earlier inputs, an editor; and a low terminal.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{SIZE, one_worker, task};
use crate::pty::Pty;
use crate::support::{command, run};

const ASKS: &str = "permissions: {ask: ['Bash(touch:*)']}\n";

/// The next request has what the person wrote.
fn expecting(text: &str) -> String {
    format!(
        "- agent: worker\n  steps:\n    - delay_ms: 4000\n      tool_calls: [{{name: Read, input: {{path: stock.py}}}}]\n    \
         - expect: {text:?}\n      text: I read it.\n"
    )
}

fn ends_well(pty: Pty) -> String {
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("I read it."), "{text}");
    text
}

#[test]
fn several_lines_are_one_message() {
    let dir = one_worker("", &expecting("first line\nsecond line\nthird line"));
    let mut pty = task(&dir, &[]);
    pty.wait_for("thinking");
    // Ctrl-J, and a backslash before Enter.
    pty.press("first line\nsecond line\\\rthird line");
    pty.wait_for_all(&["› first line\n  second line\n  third line"]);
    // Up goes to the line above, not to an earlier input.
    pty.press("\u{1b}[A\u{1b}[B\r");
    pty.wait_for("queued: first line");
    ends_well(pty);
}

#[test]
fn a_file_is_mentioned_by_a_part_of_its_path() {
    let dir = one_worker("", &expecting("look at @test_stock.py please"));
    fs::write(dir.path().join(".gitignore"), "stock.log\n").unwrap();
    fs::write(dir.path().join("stock.log"), "").unwrap();
    let mut pty = task(&dir, &[]);
    pty.wait_for("thinking");
    pty.press("look at @tock");
    pty.wait_for_all(&["› @stock.py", "  @test_stock.py"]);
    assert!(!pty.screen().contains("stock.log"), "ignored files are not offered\n{}", pty.screen());
    pty.press("\u{1b}[B\t");
    pty.wait_for("› look at @test_stock.py");
    pty.press("please\r");
    ends_well(pty);
}

#[test]
fn the_output_of_a_command_is_shown_and_read_by_the_model() {
    let dir =
        one_worker("", &expecting("I ran `echo from the shell; exit 3` (exit code 3):\nfrom the shell"));
    let mut pty = task(&dir, &[]);
    pty.wait_for("thinking");
    pty.press("!echo from the shell; exit 3");
    pty.press("\r");
    pty.wait_for_all(&["› !echo from the shell; exit 3", "    from the shell", "  exit code 3"]);
    let text = ends_well(pty);
    assert_eq!(text.matches("    from the shell").count(), 1, "it is printed once\n{text}");
    let history = run(dir.path(), &["history", "t"], "");
    assert!(history.stdout.contains("I ran `echo from the shell; exit 3`"), "{}", history.stdout);
}

#[test]
fn a_command_that_does_not_end_is_stopped() {
    let script = "- agent: worker\n  steps:\n    - {delay_ms: 60000, text: Never.}\n";
    let dir = one_worker("", script);
    let mut pty = task(&dir, &[]);
    pty.wait_for("thinking");
    pty.press("!echo $$ > pid; echo begun; sleep 300\r");
    pty.wait_for_all(&["    begun", "! echo $$ > pid", "Esc: stop your command"]);
    let pid = fs::read_to_string(dir.path().join("pid")).unwrap();
    pty.press("\u{1b}");
    pty.wait_for("stopped your command; the agents do not get its output");
    pty.wait_until("the process is gone", |_| !fs::exists(format!("/proc/{}", pid.trim())).unwrap());
    assert!(pty.screen().contains("thinking"), "the turn of the agent was not stopped\n{}", pty.screen());
    pty.press("/cancel\r");
    pty.end();
}

#[test]
fn an_earlier_input_is_found_and_sent_again() {
    let dir = one_worker("", &expecting("look at the parser"));
    let mut pty = task(&dir, &[]);
    pty.wait_for("thinking");
    pty.press("/nonsense one\r");
    pty.wait_for("unknown command");
    pty.press("/nonsense two\r");
    pty.press("\u{12}ONE");
    pty.wait_for("search: ONE  /nonsense one");
    // Enter shows it, so that it can be changed.
    pty.press("\r");
    pty.wait_for("› /nonsense one");
    pty.press("\u{15}look at the parser\r");
    pty.wait_for("queued: look at the parser");
    ends_well(pty);
}

#[test]
fn a_text_is_written_in_the_persons_editor() {
    let dir = one_worker("", &expecting("draft and more"));
    let editor = dir.path().join("editor.sh");
    // It reads the terminal itself: no key may go to rawko meanwhile.
    fs::write(&editor, "#!/bin/sh\nprintf 'press a key: '\nread line\nprintf ' %s' \"$line\" >> \"$2\"\n")
        .unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = command(dir.path(), &["task", "Do it", "--id", "t", "--agent", "worker"]);
    command.env_remove("VISUAL").env("EDITOR", format!("{} --wait", editor.display()));
    let mut pty = Pty::of(command, SIZE);
    pty.wait_for("thinking");
    pty.press("draft");
    pty.wait_for("› draft");
    pty.press("\u{7}");
    pty.wait_for("press a key:");
    pty.press("and more\r");
    pty.wait_for("› draft and more");
    pty.press("\r");
    ends_well(pty);
}

const BOTH: &str = r#"
- agent: worker
  steps:
    - tool_calls:
        - {name: Bash, input: {command: echo fast}}
        - {name: Bash, input: {command: "echo slow; sleep 4"}}
    - text: I read it.
"#;

#[test]
fn the_call_that_still_runs_is_shown() {
    let dir = one_worker("", BOTH);
    let mut pty = task(&dir, &[]);
    pty.wait_for_all(&["✓ Bash echo fast", "· Bash echo slow; sleep 4 "]);
    ends_well(pty);
}

const TOUCH: &str = r#"
- agent: worker
  steps:
    - tool_calls: [{name: Bash, input: {command: touch made.txt}}]
    - text: I read it.
"#;

#[test]
fn a_low_terminal_shows_the_command_and_the_choices() {
    for size in [(40, 12), (40, 9), (24, 8)] {
        let dir = one_worker(ASKS, TOUCH);
        let args = ["task", "Do it", "--id", "t", "--agent", "worker"];
        let mut pty = Pty::start(dir.path(), &args, size);
        pty.wait_for("touch made.txt");
        pty.wait_until("a request that takes keys", |pty| pty.screen().contains("choose, then Enter"));
        let screen = pty.screen();
        for wanted in ["? Run ", "touch made.txt", "y ", "n ", "worker · waiting"] {
            assert!(screen.contains(wanted), "{size:?} {wanted}\n{screen}");
        }
        assert!(!screen.contains("more line"), "{size:?}\n{screen}");
        pty.press("y");
        pty.wait_for("› y  allow once");
        pty.press("\r");
        ends_well(pty);
    }
}
