//! Agents that are programs: their text, calls, changes and cost, in a session, in a pipe and afterwards.

use std::fs;

use tempfile::TempDir;

use super::task;
use crate::support::run;
use crate::tasks::project::{SETTINGS, agent, project};

const PROGRAM: &str = r#"
import json, sys
def send(**message): print(json.dumps(message), flush=True)
turn = json.loads(sys.stdin.readline())
send(type='text_delta', text='I write **a note**.')
def call(id, name, **input):
    send(type='tool_call', id=id, name=name, input=input)
    json.loads(sys.stdin.readline())
call('c1', 'Write', path='note.txt', content='hello')
call('c2', 'Bash', command='cat note.txt')
call('c3', 'Read', path='gone.txt')
send(type='usage', input_tokens=812, output_tokens=40)
send(type='done', text='The **note** is there.\n\nIt has one line.')
"#;

fn with_program() -> TempDir {
    let worker =
        "kind: process\ncommand: [/usr/bin/python3, program.py]\ntransitions: {onSuccess: complete}\n";
    let dir = project(SETTINGS, &[agent("worker", worker)], "[]");
    fs::write(dir.path().join("program.py"), PROGRAM).unwrap();
    dir
}

#[test]
fn a_program_is_shown_as_other_agents_are() {
    let dir = with_program();
    let (code, text) = task(&dir, &[]).end();
    assert_eq!(code, Some(0), "{text}");
    let session = [
        "● worker",
        "I write a note.",
        "✓ Write note.txt",
        "+hello",
        "✓ Bash cat note.txt — hello",
        "✗ Read gone.txt — ",
        "It has one line.",
    ];
    for wanted in session.iter().chain(&["complete  after 1 iteration: The note is there. …"]) {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    assert!(text.contains("worker    852 tokens"), "{text}");
    assert!(!text.contains("arbiter"), "{text}");
    let replayed = run(dir.path(), &["replay", "t"], "").stdout;
    for wanted in session {
        assert!(replayed.contains(wanted), "{wanted}\n{replayed}");
    }
    let history = run(dir.path(), &["history", "t"], "").stdout;
    let told = ["says     I write **a note**.", "calls    Write note.txt", "result   hello", "error    "];
    for wanted in told.into_iter().chain(["It has one line."]) {
        assert!(history.contains(wanted), "{wanted}\n{history}");
    }
}

/// A program reads a message in its next turn; until then it is shown as waiting.
#[test]
fn a_message_to_a_program_is_queued_until_it_is_read() {
    let waiting = "import json, os, sys, time\n\
                   sys.stdin.readline()\n\
                   open('begun', 'w').close()\n\
                   while not os.path.exists('go'): time.sleep(0.05)\n\
                   print(json.dumps({'type': 'done', 'text': 'Done.'}), flush=True)\n";
    let dir = with_program();
    fs::write(dir.path().join("program.py"), waiting).unwrap();
    let mut pty = task(&dir, &[]);
    crate::queue::until("the program works", || dir.path().join("begun").exists());
    pty.press("mind the gap\r");
    pty.wait_for("queued: mind the gap");
    fs::write(dir.path().join("go"), "").unwrap();
    pty.wait_while("queued: mind the gap");
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");
}

/// A report is the agent's: its name came from the person before.
#[test]
fn a_pipe_names_the_program_that_reports() {
    let dir = with_program();
    let piped = run(dir.path(), &["task", "Do it", "--id", "t", "--agent", "worker"], "");
    assert_eq!(piped.code, Some(0), "{}{}", piped.stdout, piped.stderr);
    let line = |words: &str| piped.stdout.lines().find(|line| line.contains(words)).unwrap_or_default();
    for words in [
        "says     I write **a note**.",
        "calls    Write note.txt",
        "result   hello",
        "says     The **note** is there.",
    ] {
        assert!(line(words).starts_with("worker "), "{words}\n{}", piped.stdout);
    }
    assert!(!piped.stdout.contains("AGENT_"), "{}", piped.stdout);
    assert!(!piped.stdout.lines().any(|line| line.starts_with("you ")), "{}", piped.stdout);
    // A program that reads the output gets the whole text.
    assert!(piped.stdout.contains("iteration: The **note** is there.\n"), "{}", piped.stdout);
}
