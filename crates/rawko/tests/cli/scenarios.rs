//! `rawko test`: what differs, what was never visited, and the forms for continuous integration.

use std::fs;

use expect_test::{Expect, expect, expect_file};

use crate::support::{directory, run, transcript};

const DOOR: &str = "\
statechart:
  id: door
  initial: closed
  context: {opened: 0, by: null}
  states:
    closed:
      on:
        OPENED:
          target: open
          actions: [count]
        LOCKED: locked
    open:
      on: {CLOSED: closed}
      after: {30s: closed}
    locked:
      on:
        UNLOCKED: {target: closed, guard: \"event.data.key == 'k'\"}
        REMOVED: gone
    gone: {type: final, output: {opened: context.opened}}
  actions:
    count: {type: assign, context_updates: {opened: context.opened + 1, by: event.data.by}}
";

const GOOD: &str = "\
scenarios:
  - name: it closes by itself
    steps:
      - expect: {configuration: closed, context: {opened: 0}}
      - send: OPENED
        data: {by: ada}
        expect: {configuration: [open], context: {by: ada}}
      - advance: 29s
        expect: {configuration: open}
      - advance: 1s
        expect: {configuration: closed, context: {opened: 1}}
  - name: it starts with what it is given
    input: {opened: 7}
    steps:
      - send: OPENED
        expect: {context: {opened: 8}}
";

const BAD: &str = "\
chart: door.yaml
scenarios:
  - name: a wrong key opens
    steps:
      - send: LOCKED
      - send: UNLOCKED
        data: {key: x}
        expect:
          configuration: closed
          context: {opened: 3, by: bo}
  - name: nothing is logged
    steps:
      - send: LOCKED
        expect: {log: [clack], status: done}
  - name: this one is fine
    steps:
      - expect: {status: active}
";

const MISTAKEN: &str = "\
chrat: door.yaml
scenarios:
  - nam: no name
    steps:
      - sned: OPENED
      - advance: tomorrow
        expect: {contxt: {}, configuration: {contain: [x]}}
      - data: 3
        send: [OPENED]
      - send: OPENED
        advance: 3s
";

fn check(files: &[(&str, &str)], args: &[&str], expect: Expect) {
    let all: Vec<_> = [("door.yaml", DOOR)].into_iter().chain(files.iter().copied()).collect();
    expect.assert_eq(&transcript(directory(&all).path(), args, ""));
}

#[test]
fn passing_scenarios_and_what_they_left_out() {
    check(&[("door.scenario.yaml", GOOD)], &["test"], expect![[""]]);
}

#[test]
fn differences_have_lines_and_both_values() {
    check(&[("bad.scenario.yaml", BAD)], &["test", "--no-coverage"], expect![[""]]);
}

#[test]
fn mistakes_in_a_scenario_file_have_places_and_suggestions() {
    check(&[("m.scenario.yaml", MISTAKEN)], &["test", "m.scenario.yaml"], expect![[""]]);
}

#[test]
fn a_file_without_a_chart() {
    check(&[("lost.scenario.yaml", GOOD)], &["test", "lost.scenario.yaml"], expect![[""]]);
}

#[test]
fn a_chart_can_be_named_instead_of_its_scenarios() {
    check(&[("door.scenario.yaml", GOOD)], &["test", "door.yaml", "--no-coverage"], expect![[""]]);
}

#[test]
fn json_and_junit() {
    let dir = directory(&[
        ("door.yaml", DOOR),
        ("door.scenario.yaml", GOOD),
        ("sub/door.yaml", DOOR),
        ("sub/bad.scenario.yaml", BAD),
    ]);
    let run = run(dir.path(), &["test", "--json", "--junit", "out.xml"], "");
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    expect_file!["golden/test.json"].assert_eq(&run.stdout);
    expect_file!["golden/junit.xml"].assert_eq(&fs::read_to_string(dir.path().join("out.xml")).unwrap());
}
