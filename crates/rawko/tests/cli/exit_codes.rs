//! Every exit code, and what is said with it.

use expect_test::{Expect, expect};

use crate::support::{RAWKO, directory, transcript};

const GOOD: &str = "\
statechart:
  id: door
  initial: closed
  states:
    closed:
      on: {OPENED: open}
    open:
      on: {CLOSED: closed, REMOVED: gone}
    gone:
      type: final
";

const BROKEN: &str = "\
statechart:
  id: door
  initial: closed
  states:
    closed:
      on: {OPENED: opne}
    open:
      on: {CLOSED: closed}
";

/// Charts that send themselves events for ever.
const RUNAWAY: &str = "\
statechart:
  id: spinner
  initial: a
  context: {on: true}
  states:
    a:
      on: {GO: b}
    b:
      always: {target: c, guard: context.on}
    c:
      always: {target: b, guard: context.on}
";

fn check(args: &[&str], stdin: &str, expect: Expect) {
    let files = [
        ("good.yaml", GOOD),
        ("broken.yaml", BROKEN),
        ("runaway.yaml", RUNAWAY),
        ("bad.scenario.yaml", "chart: good.yaml\nscenarios:\n  - name: x\n    stesp: []\n"),
        (
            "failing.scenario.yaml",
            "chart: good.yaml\nscenarios:\n  - name: x\n    steps:\n      - expect: {status: done}\n",
        ),
        ("notes.txt", "nothing"),
    ];
    let dir = directory(&files);
    expect.assert_eq(&transcript(dir.path(), args, stdin));
}

#[test]
fn zero_is_done() {
    check(&["check", "good.yaml"], "", expect![[""]]);
}

#[test]
fn one_is_a_failed_scenario() {
    check(&["test", "failing.scenario.yaml", "--no-coverage"], "", expect![[""]]);
}

#[test]
fn one_is_a_simulation_that_could_not_go_on() {
    check(&["simulate", "runaway.yaml"], "{\"type\":\"GO\"}\n", expect![[""]]);
}

#[test]
fn two_is_usage() {
    check(&[], "", expect![[""]]);
    check(&["chekc", "good.yaml"], "", expect![[""]]);
    check(&["simulate", "good.yaml", "--input", "nonsense"], "", expect![[""]]);
}

#[test]
fn two_is_a_file_that_is_not_there() {
    check(&["check", "nowhere.yaml"], "", expect![[""]]);
    check(&["simulate", "nowhere.yaml"], "", expect![[""]]);
    check(&["simulate", "good.yaml", "--events", "nowhere.jsonl"], "", expect![[""]]);
    check(&["simulate", "good.yaml", "--services", "nowhere.json"], "", expect![[""]]);
    check(&["graph", "."], "", expect![[""]]);
    check(&["test", "nowhere.scenario.yaml"], "", expect![[""]]);
    check(&["test", "good.yaml"], "", expect![[""]]);
    check(&["import", "nowhere.scxml"], "", expect![[""]]);
}

#[test]
fn two_is_a_malformed_stimulus_after_the_lines_before_it() {
    check(
        &["simulate", "good.yaml", "--json"],
        "{\"type\":\"OPENED\"}\n\n{\"typ\":\"CLOSED\"}\n",
        expect![[""]],
    );
    check(&["simulate", "good.yaml", "--json"], "{\"type\":\n", expect![[""]]);
}

#[test]
fn fifty_two_is_an_invalid_chart() {
    check(&["check", "broken.yaml"], "", expect![[""]]);
    check(&["simulate", "broken.yaml"], "", expect![[""]]);
    check(&["graph", "broken.yaml"], "", expect![[""]]);
    check(&["test", "bad.scenario.yaml"], "", expect![[""]]);
    check(&["import", "notes.txt"], "", expect![[""]]);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let dir = directory(&[("good.yaml", GOOD)]);
    // `head` takes one line and leaves; the binary has megabytes to say.
    let script = format!(
        "yes '{{\"type\":\"OPENED\"}}' | head -n 20000 | '{RAWKO}' simulate good.yaml --json 2>err | head -n 1 >out; \
         echo ${{PIPESTATUS[2]}} >code"
    );
    let status =
        std::process::Command::new("bash").arg("-c").arg(script).current_dir(dir.path()).status().unwrap();
    assert!(status.success());
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(read("err"), "");
    assert_eq!(read("code"), "0\n");
    assert!(read("out").starts_with("{\"step\":0,"));
}
