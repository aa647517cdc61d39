//! Scenarios under crashes and faults: the injected faults, the rules that hold, and the expectations that override them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::fs;

use expect_test::{Expect, expect};
use rawko_testing::{Suite, TestReport};

/// An order that charges a card: with a retry and a timeout, and with a state for what fails.
const CAREFUL: &str = "\
id: order
initial: charging
context: {receipt: null}
states:
  charging:
    invoke:
      id: payment
      src: charge_card
      timeout: 10s
      retry: {max_attempts: 2, initial_delay: 1s}
      onDone: {target: paid, actions: [{type: assign, context_updates: {receipt: event.data.receipt}}]}
      onError: declined
  paid: {type: final}
  declined: {type: final}
";

const PAID: &str = "\
services: {charge_card: {after: 2s, done: {receipt: r-1}}}
scenarios:
  - name: paid
    steps:
      - advance: 2s
        expect: {configuration: paid, context: {receipt: r-1}}
";

fn report(chart: &str, scenarios: &str, variants: fn(Suite) -> Suite) -> TestReport {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("order.yaml"), chart).unwrap();
    fs::write(dir.path().join("order.scenario.yaml"), scenarios).unwrap();
    let mut report = variants(Suite::load(dir.path()).unwrap().without_coverage()).run();
    let folder = format!("{}/", dir.path().display());
    for file in &mut report.files {
        file.file = file.file.replace(&folder, "");
        file.problem = file.problem.take().map(|problem| problem.replace(&folder, ""));
    }
    report
}

fn check_faults(chart: &str, scenarios: &str, expect: Expect) {
    expect.assert_eq(&report(chart, scenarios, Suite::with_faults).to_string());
}

/// The chart with one text replaced by another.
fn order(from: &str, to: &str) -> String {
    assert!(CAREFUL.contains(from), "{from}");
    CAREFUL.replace(from, to)
}

#[test]
fn a_careful_chart_passes_every_crash_and_fault() {
    let report = report(CAREFUL, PAID, |suite| suite.with_crashes().with_faults());
    expect![[r#"
        order.scenario.yaml
          ok      paid
                  4 crash runs: all passed
                  6 fault runs: all passed

        1 scenario: 1 passed
    "#]]
    .assert_eq(&report.to_string());
}

#[test]
fn a_failure_that_nothing_handles_is_a_stall() {
    check_faults(
        &order("      onError: declined\n", ""),
        PAID,
        expect![[r#"
        order.scenario.yaml
          FAILED  paid
                  6 fault runs: 1 failed
                  fault: `payment` always fails; line 3, after all steps: status
                    expected  no stall
                    actual    stalled in [charging]: nothing handles the failure of `payment`

        1 scenario: 0 passed, 1 failed
    "#]],
    );
}

#[test]
fn a_state_that_nothing_can_leave_is_a_stall() {
    check_faults(
        &order("declined: {type: final}", "declined: {}"),
        PAID,
        expect![[r#"
        order.scenario.yaml
          FAILED  paid
                  6 fault runs: 1 failed
                  fault: `payment` always fails; line 3, after all steps: status
                    expected  no stall
                    actual    stuck in [declined]: no timer, call or event can move it

        1 scenario: 0 passed, 1 failed
    "#]],
    );
}

#[test]
fn a_retry_at_once_without_end_is_a_runaway() {
    let chart = order("      retry: {max_attempts: 2, initial_delay: 1s}\n", "");
    let chart = chart.replace("onError: declined", "onError: {target: charging, reenter: true}");
    check_faults(
        &chart,
        &PAID.replace("after: 2s, ", "").replace("advance: 2s", "advance: 0"),
        expect![[r#"
            order.scenario.yaml
              FAILED  paid
                      6 fault runs: 1 failed
                      fault: `payment` always fails; line 3, after start: step
                        expected  no runaway
                        actual    more than 1000 calls in a row failed without a delay: a runaway loop

            1 scenario: 0 passed, 1 failed
        "#]],
    );
}

#[test]
fn retries_with_time_between_may_continue_for_ever() {
    let chart = order("onError: declined", "onError: {target: charging, reenter: true}");
    check_faults(
        &chart,
        PAID,
        expect![[r#"
        order.scenario.yaml
          ok      paid
                  6 fault runs: all passed

        1 scenario: 1 passed
    "#]],
    );
}

#[test]
fn a_failing_action_on_the_error_path_is_a_silent_failure() {
    let action = "{target: declined, actions: [{type: assign, context_updates: {receipt: 1 / 0}}]}";
    check_faults(
        &order("onError: declined", &format!("onError: {action}")),
        PAID,
        expect![[r#"
        order.scenario.yaml
          FAILED  paid
                  6 fault runs: 1 failed
                  fault: `payment` always fails; line 3, after all steps: error.execution
                    expected  no silent failure
                    actual    nothing handles it: action `assign receipt`: division by zero in `1 / 0`

        1 scenario: 0 passed, 1 failed
    "#]],
    );
}

#[test]
fn a_failure_that_is_consumed_without_effect_is_silent() {
    check_faults(
        &order("onError: declined", "onError: {}\n    on: {CANCELLED: declined}"),
        PAID,
        expect![[r#"
            order.scenario.yaml
              FAILED  paid
                      6 fault runs: 1 failed
                      fault: `payment` always fails; line 3, after all steps: error.invoke.payment
                        expected  no silent failure
                        actual    consumed without any effect by `charging: onError payment (nothing: the event is consumed)`

            1 scenario: 0 passed, 1 failed
        "#]],
    );
}

#[test]
fn a_scenario_can_say_what_is_expected_under_a_fault() {
    let scenarios = format!(
        "{PAID}    faults:
      payment:
        fail: same
        outage: {{configuration: declined, invoked: [payment]}}
        timeout: skip
        interrupt: {{status: done}}
      paymnt: {{any: skip}}
"
    );
    check_faults(
        CAREFUL,
        &scenarios,
        expect![[r#"
        order.scenario.yaml
          FAILED  paid
                  5 fault runs: 3 failed
                  fault expectation without a call; line 13, after advance 2s: faults.paymnt
                    expected  the id or `src` of a call
                    actual    calls are `payment`
                  fault: `payment` fails; line 5, after advance 2s: configuration
                    expected  ["paid"]
                    actual    ["charging"]
                  fault: `payment` always fails; line 10, after all steps: invoked
                    expected  [payment]
                    actual    [{"id":"payment","src":"charge_card","input":null}, {"id":"payment","src":"charge_card","input":null}]

        1 scenario: 0 passed, 1 failed
    "#]],
    );
}

#[test]
fn mistakes_below_faults_have_places_and_suggestions() {
    let scenarios =
        format!("{PAID}    faults:\n      payment: {{fial: same, late: never, any: {{contxt: {{}}}}}}\n");
    check_faults(
        CAREFUL,
        &scenarios,
        expect![[r#"
            order.scenario.yaml
              error[rawko::scenario::unknown_key]: `faults` of `payment` has no key `fial`
               --> order.scenario.yaml:8:17
                |
              8 |       payment: {fial: same, late: never, any: {contxt: {}}}
                |                 ^^^^
                |
                = help: did you mean `fail`?

              error[rawko::scenario::bad_value]: expected outcome must be a map or one of `same`, `skip`
               --> order.scenario.yaml:8:35
                |
              8 |       payment: {fial: same, late: never, any: {contxt: {}}}
                |                                   ^^^^^

              error[rawko::scenario::unknown_key]: `expect` has no key `contxt`
               --> order.scenario.yaml:8:48
                |
              8 |       payment: {fial: same, late: never, any: {contxt: {}}}
                |                                                ^^^^^^
                |
                = help: did you mean `context`?

            1 file could not be run
        "#]],
    );
}

#[test]
fn crash_and_fault_runs_are_part_of_the_json() {
    let report = report(CAREFUL, PAID, |suite| suite.with_crashes().with_faults());
    let scenario = &report.to_json()["files"][0]["scenarios"][0];
    expect![[r#"
        {"runs":4,"failures":[]}
        {"runs":6,"failures":[]}
    "#]]
    .assert_eq(&format!("{}\n{}\n", scenario["crashes"], scenario["faults"]));
}
