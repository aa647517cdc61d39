//! `rawko test`: differences, coverage, and the formats for continuous integration.

use std::fs;

use expect_test::{Expect, expect, expect_file};

use crate::support::{directory, repository, run, transcript};

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
  - name: a state that is not there
    steps:
      - expect: {configuration: {contains: [closed], excludes: [lokced]}}
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
        expect: {status: finished}
";

fn check(files: &[(&str, &str)], args: &[&str], expect: Expect) {
    let all: Vec<_> = [("door.yaml", DOOR)].into_iter().chain(files.iter().copied()).collect();
    expect.assert_eq(&transcript(directory(&all).path(), args, ""));
}

#[test]
fn passing_scenarios_and_what_they_left_out() {
    check(
        &[("door.scenario.yaml", GOOD)],
        &["test"],
        expect![[r#"
        $ rawko test
        door.scenario.yaml
          ok      it closes by itself
          ok      it starts with what it is given

        coverage of door.yaml: 40% (2 of 4 states, 2 of 6 transitions)
          states never entered:
            locked
            gone
          transitions never taken:
            closed: LOCKED → locked
            open: CLOSED → closed
            locked: UNLOCKED [event.data.key == 'k'] → closed
            locked: REMOVED → gone

        2 scenarios: 2 passed
    "#]],
    );
}

#[test]
fn differences_have_lines_and_both_values() {
    check(
        &[("bad.scenario.yaml", BAD)],
        &["test", "--no-coverage"],
        expect![[r#"
            $ rawko test --no-coverage
            bad.scenario.yaml
              FAILED  a wrong key opens
                      line 9, after send UNLOCKED: configuration
                        expected  [closed]
                        actual    [locked]
                      line 10, after send UNLOCKED: context.opened
                        expected  3
                        actual    0
                      line 10, after send UNLOCKED: context.by
                        expected  "bo"
                        actual    null
              FAILED  nothing is logged
                      line 14, after send LOCKED: log
                        expected  [clack]
                        actual    []
                      line 14, after send LOCKED: status
                        expected  "done"
                        actual    "active"
              FAILED  a state that is not there
                      line 17, after start: configuration
                        expected  a state of the chart
                        actual    there is no state `lokced` in the chart
              ok      this one is fine

            4 scenarios: 1 passed, 3 failed
            --- exit code 1
        "#]],
    );
}

#[test]
fn mistakes_in_a_scenario_file_have_places_and_suggestions() {
    check(
        &[("m.scenario.yaml", MISTAKEN)],
        &["test", "m.scenario.yaml"],
        expect![[r#"
            $ rawko test m.scenario.yaml
            m.scenario.yaml
              error[rawko::scenario::unknown_key]: a scenario file has no key `chrat`
               --> m.scenario.yaml:1:1
                |
              1 | chrat: door.yaml
                | ^^^^^
                |
                = help: did you mean `chart`?

              error[rawko::scenario::unknown_key]: a scenario has no key `nam`
               --> m.scenario.yaml:3:5
                |
              3 |   - nam: no name
                |     ^^^
                |
                = help: did you mean `name`?

              error[rawko::scenario::missing]: a scenario needs a `name`
               --> m.scenario.yaml:3:5
                |
              3 |   - nam: no name
                |     ^^^^^^^^^^^^

              error[rawko::scenario::unknown_key]: a step has no key `sned`
               --> m.scenario.yaml:5:9
                |
              5 |       - sned: OPENED
                |         ^^^^
                |
                = help: did you mean `send`?

              error[rawko::scenario::missing]: a step needs `send`, `advance` or `expect`
               --> m.scenario.yaml:5:9
                |
              5 |       - sned: OPENED
                |         ^^^^^^^^^^^^

              error[rawko::scenario::bad_value]: `tomorrow` is not a duration; write for example `1500`, `250ms`, `30s`, `15m`, `24h`, `7d` or `PT1H`
               --> m.scenario.yaml:6:18
                |
              6 |       - advance: tomorrow
                |                  ^^^^^^^^

              error[rawko::scenario::unknown_key]: `expect` has no key `contxt`
               --> m.scenario.yaml:7:18
                |
              7 |         expect: {contxt: {}, configuration: {contain: [x]}}
                |                  ^^^^^^
                |
                = help: did you mean `context`?

              error[rawko::scenario::unknown_key]: `configuration` has no key `contain`
               --> m.scenario.yaml:7:46
                |
              7 |         expect: {contxt: {}, configuration: {contain: [x]}}
                |                                              ^^^^^^^
                |
                = help: did you mean `contains`?

              error[rawko::scenario::wrong_type]: `send` must be text, not a list
               --> m.scenario.yaml:9:15
                |
              9 |         send: [OPENED]
                |               ^^^^^^^^

              error[rawko::scenario::missing]: a step needs `send`, `advance` or `expect`
               --> m.scenario.yaml:8:9
                |
              8 |       - data: 3
                |         ^^^^^^^

              error[rawko::scenario::bad_value]: a step either sends or advances
                --> m.scenario.yaml:11:18
                 |
              11 |         advance: 3s
                 |                  ^^
                 |
                 = help: make two steps of it

              error[rawko::scenario::bad_value]: `status` is one of `active`, `done`, `error`, `cancelled`
                --> m.scenario.yaml:12:26
                 |
              12 |         expect: {status: finished}
                 |                          ^^^^^^^^

            1 file could not be run
            --- exit code 52
        "#]],
    );
}

#[test]
fn a_file_without_a_chart() {
    check(
        &[("lost.scenario.yaml", GOOD)],
        &["test", "lost.scenario.yaml"],
        expect![[r#"
            $ rawko test lost.scenario.yaml
            lost.scenario.yaml
              there is no chart for `lost.scenario.yaml`: put `lost.yaml` next to it or set `chart: FILE` in it

            1 file could not be run
            --- exit code 52
        "#]],
    );
}

#[test]
fn a_chart_can_be_named_instead_of_its_scenarios() {
    check(
        &[("door.scenario.yaml", GOOD)],
        &["test", "door.yaml", "--no-coverage"],
        expect![[r#"
        $ rawko test door.yaml --no-coverage
        door.scenario.yaml
          ok      it closes by itself
          ok      it starts with what it is given

        2 scenarios: 2 passed
    "#]],
    );
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

#[test]
fn crashes_and_faults_are_tried_on_demand() {
    let order = "\
{id: order, initial: charging, states: {
  charging: {invoke: {id: payment, src: charge_card, onDone: paid}},
  paid: {type: final}}}";
    let scenarios = "\
services: {charge_card: {after: 2s, done: {receipt: r-1}}}
scenarios:
  - name: paid
    steps:
      - advance: 2s
        expect: {configuration: paid}
";
    check(
        &[("shop/order.yaml", order), ("shop/order.scenario.yaml", scenarios)],
        &["test", "shop", "--no-coverage", "--crash", "--faults"],
        expect![[r#"
            $ rawko test shop --no-coverage --crash --faults
            shop/order.scenario.yaml
              FAILED  paid
                      4 crash runs: all passed
                      6 fault runs: 4 failed
                      fault: `payment` fails; line 5, after advance 2s: status
                        expected  no stall
                        actual    stalled in [charging]: nothing handles the failure of `payment`
                        also with fault: `payment` always fails
                        also with fault: `payment` times out
                        also with fault: `payment` is interrupted

            1 scenario: 0 passed, 1 failed
            --- exit code 1
        "#]],
    );
}

/// No crash changes the outcome of a scenario of ours, and no fault makes a chart stall, run away or hide the failure.
#[test]
fn our_own_charts_hold_under_crashes_and_faults() {
    for folder in ["charts", "examples"] {
        let run = run(&repository(), &["test", folder, "--no-coverage", "--crash", "--faults"], "");
        assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    }
}
