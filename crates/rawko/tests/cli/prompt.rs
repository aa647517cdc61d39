//! The interactive prompt, under a terminal made by `script` (util-linux).

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use expect_test::expect;

use crate::support::{RAWKO, directory};

const DOOR: &str = "\
statechart:
  id: door
  initial: closed
  context: {opened: 0}
  states:
    closed:
      on:
        OPENED: {target: open, actions: [count]}
        FORCED: {target: open, guard: context.opened > 3}
    open:
      on: {CLOSED: closed, REMOVED: gone}
      after: {30s: closed}
    gone: {type: final}
  actions:
    count: {type: assign, context_updates: {opened: context.opened + 1}}
";

/// What a person sees who types these lines. A dumb terminal echoes nothing and draws nothing.
fn typed(dir: &Path, term: &str, lines: &str) -> (String, Option<i32>) {
    let mut child = Command::new("script")
        .args([
            "--quiet",
            "--return",
            "--echo",
            "never",
            "--command",
            &format!("'{RAWKO}' simulate door.yaml"),
        ])
        .arg("/dev/null")
        .current_dir(dir)
        .env("TERM", term)
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n"), output.status.code())
}

#[test]
fn a_conversation() {
    let dir = directory(&[("door.yaml", DOOR)]);
    let lines = "1\n:context\n+10s\n+\n:why\nFORCED {\"by\": \"bo\"}\nNONSENSE {\n:nope\n9\n:states\n:quit\n";
    let (seen, code) = typed(dir.path(), "dumb", lines);
    assert_eq!(code, Some(0));
    expect![[""]].assert_eq(&seen);
}

#[test]
fn the_end_of_input_leaves() {
    let dir = directory(&[("door.yaml", DOOR)]);
    for term in ["dumb", "xterm"] {
        let (seen, code) = typed(dir.path(), term, "OPENED\n\u{4}");
        assert_eq!(code, Some(0), "{seen}");
        assert!(seen.contains("[open]"), "{seen}");
    }
}

#[test]
fn an_interrupt_leaves_with_130() {
    let dir = directory(&[("door.yaml", DOOR)]);
    let (seen, code) = typed(dir.path(), "xterm", "\u{3}");
    assert_eq!(code, Some(130), "{seen}");
}
