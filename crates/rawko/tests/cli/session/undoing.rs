//! What a session shows on request and takes back: changes, undo and redo, tool calls in full, the queue.

use super::{one_worker, task};
use crate::support::run;

const WRITES: &str = r#"
- agent: worker
  steps:
    - tool_calls: [{name: Write, input: {path: note.txt, content: "first line\n"}}]
    - tool_calls: [{name: Write, input: {path: note.txt, content: "second line\n"}}]
    - delay_ms: 5000
      tool_calls: [{name: Read, input: {path: stock.py}}]
    - expect: "I undid the last change of files: note.txt."
      text: I saw the undo.
"#;

#[test]
fn changes_are_shown_undone_and_redone_and_the_model_reads_it() {
    let dir = one_worker("", WRITES);
    let note = dir.path().join("note.txt");
    let content = || std::fs::read_to_string(&note).unwrap_or_default();
    let mut pty = task(&dir, &[]);
    pty.wait_for("+second line");
    pty.wait_for("thinking");
    // Escape holds the completion, so that the time on this machine does not matter.
    pty.press("\u{1b}");
    pty.wait_for("type what to do instead");
    pty.press("/diff\r");
    pty.wait_for_all(&["A  note.txt  +1 -0", "    +second line"]);
    pty.press("/undo\r");
    pty.wait_for("undone note.txt (+1 -1)");
    assert_eq!(content(), "first line\n");
    pty.press("/undo\r");
    pty.wait_for("undone note.txt (+0 -1)");
    assert!(!note.exists());
    pty.press("/undo\r");
    pty.wait_for("has no changes to undo");
    pty.press("/redo\r");
    pty.wait_for("redone note.txt");
    assert_eq!(content(), "first line\n");
    pty.press("/undo all\r");
    pty.wait_until("the file is gone", |_| !note.exists());
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("I saw the undo."), "{text}");
    let history = run(dir.path(), &["history", "t", "--json"], "");
    assert!(history.stdout.contains("I undid the last change"), "the undo is in the journal");
}

const LONG: &str = r#"
- agent: worker
  steps:
    - tool_calls: [{name: Bash, input: {command: "echo one; echo two; echo three"}}]
    - tool_calls: [{name: Read, input: {path: stock.py}}]
    - {delay_ms: 60000, text: Never.}
"#;

#[test]
fn a_tool_call_folds_out() {
    let dir = one_worker("", LONG);
    let mut pty = task(&dir, &[]);
    pty.wait_for_all(&["✓ Read stock.py [2]", "✓ Bash echo one; echo two; echo three — one (+2 lines) [1]"]);
    assert!(!pty.text().contains("def read"), "{}", pty.text());
    pty.wait_for("thinking");
    pty.press("/open 1\r");
    pty.wait_for("      three");
    pty.wait_for("    command echo one; echo two; echo three\n    result\n      one\n      two\n");
    pty.press("\u{f}");
    pty.wait_for("[2] Read");
    pty.press("/open 7\r");
    pty.wait_for("there is no tool call 7");
    pty.press("/cancel\r");
    pty.end();
}

const BUSY: &str = r#"
- agent: worker
  steps:
    - tool_calls: [{name: Bash, input: {command: "echo begun; until test -e go.txt; do sleep 0.1; done"}}]
    - expect: "mind the gap"
      text: I mind it.
"#;

#[test]
fn queued_messages_are_shown_until_the_model_reads_them() {
    let dir = one_worker("", BUSY);
    let mut pty = task(&dir, &[]);
    pty.wait_for("⎿ begun");
    pty.press("mind the gap\r");
    pty.wait_for("queued: mind the gap");
    std::fs::write(dir.path().join("go.txt"), "").unwrap();
    pty.wait_while("queued: mind the gap");
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("I mind it."), "{text}");
}

/// An hour would fail the test.
const LIMITED: &str = r#"
- agent: worker
  steps:
    - {error: {code: rate_limited, retry_after_ms: 3600000}}
    - text: Here I am again.
"#;

#[test]
fn a_rate_limit_counts_down_and_enter_retries_now() {
    let dir = one_worker("", LIMITED);
    let mut pty = task(&dir, &[]);
    pty.wait_for_all(&["Enter: retry now", "rate_limited"]);
    let shown = pty.text();
    assert!(shown.contains("next attempt in 59m") || shown.contains("next attempt in 1h"), "{shown}");
    pty.press("\r");
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("Here I am again."), "{text}");
    // The same run of the agent continued.
    assert!(text.contains("complete  after 1 iteration"), "{text}");
}

const CODE: &str = r#"
- agent: worker
  steps:
    - tool_calls: [{name: PlanWrite, input: {goal: Done., steps: [{id: a, title: The first}, {id: b, title: The second}]}}]
    - tool_calls: [{name: PlanUpdate, input: {id: a, status: done}}]
    - text: |
        ## Result

        1. **one**
        2. two

        ```python
        def f():  # why
            return "x"
        ```

        | name | n |
        |---|---|
        | long name | 1 |
    - {delay_ms: 60000, text: Never.}
"#;

#[test]
fn a_plan_is_ticked_and_markdown_is_rendered_with_colours() {
    let dir = one_worker(
        "permissions: {ask: ['Bash']}\n",
        &CODE.replace(
            "    - text: |",
            "    - tool_calls: [{name: Bash, input: {command: ls}}]\n      text: |",
        ),
    );
    let mut pty = task(&dir, &[]);
    pty.wait_for("allow once");
    pty.wait_for_all(&[
        "  plan [ ] The first\n       [ ] The second",
        "  plan [x] The first",
        "plan 1/2",
        "  Result\n",
        "  1. one\n  2. two\n",
        "    def f():  # why\n        return \"x\"\n",
        "  name       n\n  long name  1\n",
    ]);
    assert_eq!(pty.colour_of("return"), Some(vt100::Color::Idx(6)), "a keyword has a colour");
    assert_eq!(pty.colour_of("\"x\""), Some(vt100::Color::Idx(2)), "a text has a colour");
    pty.press("/cancel\r");
    pty.end();
}
