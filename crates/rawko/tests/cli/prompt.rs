//! The interactive prompt, under a terminal created by `script` (util-linux).

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

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

/// Types each line once the prompt appears and returns the screen. A dumb terminal draws nothing.
fn typed(dir: &Path, term: &str, lines: &[&str]) -> (String, Option<i32>) {
    let steps: Vec<(&str, &str)> = lines.iter().map(|line| ("", *line)).collect();
    typed_after(dir, term, &steps)
}

/// Types each line once the text before it and then the prompt have appeared: on a real terminal the prompt is drawn
/// again with every key.
fn typed_after(dir: &Path, term: &str, steps: &[(&str, &str)]) -> (String, Option<i32>) {
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
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let finished = kill_when_stuck(child.id());
    let mut seen = Vec::new();
    for (text, line) in steps {
        read_until_prompt(&mut stdout, &mut seen, text);
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.flush().unwrap();
    }
    stdout.read_to_end(&mut seen).unwrap();
    let code = child.wait().unwrap().code();
    drop(finished);
    (String::from_utf8(seen).unwrap().replace("\r\n", "\n"), code)
}

/// Kills a program that waits for ever, so that its test fails instead of hanging.
fn kill_when_stuck(id: u32) -> mpsc::Sender<()> {
    let (finished, told) = mpsc::channel();
    thread::spawn(move || {
        if told.recv_timeout(Duration::from_secs(60)) == Err(mpsc::RecvTimeoutError::Timeout) {
            let _ = Command::new("kill").args(["-KILL", &id.to_string()]).status();
        }
    });
    finished
}

fn read_until_prompt(stdout: &mut impl Read, seen: &mut Vec<u8>, text: &str) {
    let already = seen.len();
    let mut byte = [0];
    let has_text =
        |new: &[u8]| text.is_empty() || new.windows(text.len()).any(|part| part == text.as_bytes());
    while !((seen[already..].ends_with(b"\n> ") || seen[already..].ends_with(b"\x1b[K> "))
        && has_text(&seen[already..]))
    {
        assert_eq!(stdout.read(&mut byte).unwrap(), 1, "no prompt: {}", String::from_utf8_lossy(seen));
        seen.push(byte[0]);
    }
}

#[test]
fn a_conversation() {
    let dir = directory(&[("door.yaml", DOOR)]);
    let lines = [
        "1\n",
        ":context\n",
        "+10s\n",
        "+\n",
        ":why\n",
        "FORCED {\"by\": \"bo\"}\n",
        "NONSENSE {\n",
        ":nope\n",
        "9\n",
        ":states\n",
        ":help\n",
        "+never\n",
        ":quit\n",
    ];
    let (seen, code) = typed(dir.path(), "dumb", &lines);
    assert_eq!(code, Some(0));
    expect![[r#"
        start                        [closed]
            context  opened: 0
        tip: type `:help` for help, Ctrl-D to leave
          1  OPENED  → open
          2  FORCED  [context.opened > 3] → open (no: its guard is false)
        > OPENED                       [open]
            context  opened: 0 → 1
          1  CLOSED   → closed
          2  REMOVED  → gone
        >     opened: 1
          1  CLOSED   → closed
          2  REMOVED  → gone
        > +10s                         [open]
          1  CLOSED   → closed
          2  REMOVED  → gone
        > +20s                         [closed]
          1  OPENED  → open
          2  FORCED  [context.opened > 3] → open (no: its guard is false)
        > explanations on
          1  OPENED  → open
          2  FORCED  [context.opened > 3] → open (no: its guard is false)
        > FORCED {"by":"bo"}           [closed]
                event FORCED
                  not taken closed: FORCED [context.opened > 3] → open: its guard is false
                  ignored   FORCED: no transition handles it
          1  OPENED  → open
          2  FORCED  [context.opened > 3] → open (no: its guard is false)
        > invalid data for `NONSENSE`: not JSON: EOF while parsing an object at line 1 column 1
          1  OPENED  → open
          2  FORCED  [context.opened > 3] → open (no: its guard is false)
        > unknown command `:nope`; see `:help`
          1  OPENED  → open
          2  FORCED  [context.opened > 3] → open (no: its guard is false)
        > no event number 9; see `:events`
          1  OPENED  → open
          2  FORCED  [context.opened > 3] → open (no: its guard is false)
        > closed
          1  OPENED  → open
          2  FORCED  [context.opened > 3] → open (no: its guard is false)
        > EVENT               send an event                       APPROVED
          EVENT JSON          send an event with data             APPROVED {"by": "ada"}
          NUMBER [JSON]       send an event from the list         1
          +DURATION           advance time                        +1500ms  +15m  +24h
          +                   advance time to the next timer or result
          {...}               a stimulus in JSON                  {"advance": 1500}

          :events             list the events accepted now
          :states             print the active states
          :context            print the context
          :why                turn explanations of transitions on or off
          :help               print this help
          :quit               leave (also Ctrl-D)
          1  OPENED  → open
          2  FORCED  [context.opened > 3] → open (no: its guard is false)
        > `never` is not a duration; write for example `1500`, `250ms`, `30s`, `15m`, `24h`, `7d` or `PT1H`
          1  OPENED  → open
          2  FORCED  [context.opened > 3] → open (no: its guard is false)
        > "#]]
    .assert_eq(&seen);
}

#[test]
fn the_end_of_input_leaves() {
    let dir = directory(&[("door.yaml", DOOR)]);
    for term in ["dumb", "xterm"] {
        let (seen, code) = typed_after(dir.path(), term, &[("", "OPENED\r"), ("[open]", "\u{4}")]);
        assert_eq!(code, Some(0), "{seen}");
        assert!(seen.contains("[open]"), "{seen}");
    }
}

#[test]
fn an_interrupt_leaves_with_130() {
    let dir = directory(&[("door.yaml", DOOR)]);
    let (seen, code) = typed(dir.path(), "xterm", &["\u{3}"]);
    assert_eq!(code, Some(130), "{seen}");
}

#[test]
fn tab_completes_events() {
    let dir = directory(&[("door.yaml", DOOR)]);
    let (seen, code) = typed_after(dir.path(), "xterm", &[("", "OP\t\r"), ("[open]", "\u{4}")]);
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("[open]"), "{seen}");
}
