//! `rawko run` and what follows it: charts run for real, with services, people and children, on a real store.

use expect_test::{Expect, expect};

use crate::support::{directory, played, run, stable};

/// A person approves, a service charges.
pub(crate) const ORDER: &str = "\
statechart:
  id: order
  version: '1.0.0'
  initial: checking
  context: {amount: 0, by: null, receipt: null}
  states:
    checking:
      always:
        - {target: charging, guard: context.amount <= 100}
        - {target: asking}
    asking:
      invoke:
        id: approval
        src: human
        input: {title: \"'Pay ' + string(context.amount) + '?'\"}
        onDone:
          - {target: charging, guard: event.data.approved, actions: [remember]}
          - {target: rejected, actions: [remember]}
        onError: rejected
      on: {WAIVED: charging}
      after: {24h: rejected}
    charging:
      invoke:
        id: payment
        src: charge_card
        input: {amount: context.amount}
        onDone:
          target: paid
          actions:
            - {type: assign, context_updates: {receipt: event.data.receipt}}
            - {type: log, message: \"'charged ' + string(context.amount)\"}
    paid: {type: final, output: {receipt: context.receipt}}
    rejected: {type: final, output: {by: context.by}}
  actions:
    remember: {type: assign, context_updates: {by: event.data.by}}
";

/// The service answers, unless there is a file that says it is broken.
pub(crate) const SETTINGS: &str = "\
services:
  charge_card:
    command: [sh, charge.sh]
governance:
  allow: [charge_card]
";

pub(crate) const CHARGE: &str = "\
cat > /dev/null
if [ -e broken ]; then
  echo 'card declined' >&2
  exit 1
fi
echo '{\"receipt\": \"r-1\"}'
";

pub(crate) const FILES: [(&str, &str); 3] =
    [("order.yaml", ORDER), (".rawko/config.yaml", SETTINGS), ("charge.sh", CHARGE)];

fn check(files: &[(&str, &str)], commands: &[&str], expect: Expect) {
    let dir = directory(files);
    expect.assert_eq(&played(dir.path(), commands));
}

#[test]
fn a_chart_runs_to_its_end() {
    check(&FILES, &["run order.yaml --id o-1 --input amount=30"], expect![[""]]);
}

#[test]
fn what_waits_for_a_person_is_parked_and_goes_on_with_the_answer() {
    check(
        &FILES,
        &[
            "run order.yaml --id o-1 --input amount=250",
            "show o-1",
            "approve o-1 --comment fine",
            "resume o-1",
            "approve o-1",
        ],
        expect![[""]],
    );
}

#[test]
fn saying_no_is_an_answer() {
    check(
        &FILES,
        &["run order.yaml --id o-1 --input amount=250 --output-format json", "deny o-1 --as bo"],
        expect![[""]],
    );
}

#[test]
fn events_reach_parked_instances() {
    check(
        &FILES,
        &[
            "run order.yaml --id o-1 --input amount=250 --output-format json",
            "send o-1 NONSENSE",
            "send o-1 WAIVED --key k-1 --data why=vip",
            "send o-1 WAIVED",
        ],
        expect![[""]],
    );
}

#[test]
fn the_same_key_again_changes_nothing() {
    let dir = directory(&FILES);
    let commands = ["run order.yaml --id o-1 --input amount=250", "send o-1 NONSENSE --key a", "send o-1 NONSENSE --key a"];
    played(dir.path(), &commands);
    let history = run(dir.path(), &["history", "o-1", "--json"], "").stdout;
    assert_eq!(history.matches("NONSENSE").count(), 1, "{history}");
}

#[test]
fn a_failed_call_stops_the_instance_until_somebody_tries_again() {
    let dir = directory(&FILES);
    std::fs::write(dir.path().join("broken"), "").unwrap();
    let failed = played(dir.path(), &["run order.yaml --id o-1 --input amount=30", "show o-1"]);
    std::fs::remove_file(dir.path().join("broken")).unwrap();
    let resumed = played(dir.path(), &["resume o-1"]);
    expect![[""]].assert_eq(&(failed + &resumed));
}

const PROBE: &str = "\
statechart:
  id: probe
  initial: trying
  context: {why: null}
  states:
    trying:
      invoke:
        id: attempt
        src: format_disk
        onDone: done
        onError:
          target: refused
          actions: [{type: assign, context_updates: {why: event.data.category}}]
    done: {type: final}
    refused: {type: final, output: {why: context.why}}
";

#[test]
fn a_command_that_is_not_allowed_is_refused_and_audited() {
    let settings = "services:\n  format_disk: {command: [touch, formatted]}\ngovernance: {allow: [charge_card]}\n";
    let dir = directory(&[("probe.yaml", PROBE), (".rawko/config.yaml", settings)]);
    let told = played(dir.path(), &["run probe.yaml --id p-1", "logs p-1 --audit"]);
    expect![[""]].assert_eq(&told);
    assert!(!dir.path().join("formatted").exists());
}

#[test]
fn a_budget_that_is_used_up_has_its_own_exit_code() {
    let settings = SETTINGS.to_owned() + "  budget: {calls: 0}\n";
    let files = [("order.yaml", ORDER), (".rawko/config.yaml", &settings), ("charge.sh", CHARGE)];
    check(&files, &["run order.yaml --id o-1 --input amount=30"], expect![[""]]);
}

const PARENT: &str = "\
statechart:
  id: shop
  initial: shipping
  context: {tracking: null}
  states:
    shipping:
      invoke:
        id: parcel
        src: statechart:parcel@^1
        input: {to: \"'Ada'\"}
        onDone:
          target: shipped
          actions: [{type: assign, context_updates: {tracking: event.data.tracking}}]
        onError: lost
    shipped: {type: final, output: {tracking: context.tracking}}
    lost: {type: final}
";

const CHILD: &str = "\
statechart:
  id: parcel
  version: '1.2.0'
  initial: packing
  context: {to: null}
  states:
    packing:
      entry: [{type: log, message: \"'for ' + context.to\"}]
      after: {10ms: sent}
    sent: {type: final, output: {tracking: \"'t-1'\"}}
";

#[test]
fn children_are_told_under_their_own_names() {
    let files = [("shop.yaml", PARENT), ("parcel.yaml", CHILD)];
    check(&files, &["run shop.yaml --id s-1 --with parcel.yaml", "ps --all --json"], expect![[""]]);
}

#[test]
fn a_child_that_is_nowhere_is_an_error_the_chart_can_handle() {
    check(&[("shop.yaml", PARENT)], &["run shop.yaml --id s-1"], expect![[""]]);
}

#[test]
fn programs_read_a_line_for_everything_and_the_result_last() {
    check(
        &FILES,
        &["run order.yaml --id o-1 --input amount=30 --output-format stream-json"],
        expect![[""]],
    );
}

#[test]
fn verbose_says_why() {
    check(&FILES, &["run order.yaml --id o-1 --input amount=30 -v"], expect![[""]]);
}

#[test]
fn an_id_is_made_up_from_the_chart_and_cannot_be_used_twice() {
    let dir = directory(&FILES);
    let made_up = run(dir.path(), &["run", "order.yaml", "--output-format", "json"], "");
    let result: serde_json::Value = serde_json::from_str(&made_up.stdout).unwrap();
    assert!(result["id"].as_str().unwrap().starts_with("order-"), "{result}");
    let twice = played(dir.path(), &["run order.yaml --id o-1", "run order.yaml --id o-1"]);
    assert!(twice.ends_with("error: there is already an instance `o-1`\n--- exit code 2\n"), "{twice}");
}

#[test]
fn input_comes_from_files_too() {
    let echo = "\
statechart:
  id: echo
  initial: done
  context: {text: null, list: null}
  states:
    done: {type: final, output: {text: context.text, list: context.list}}
";
    let files = [("echo.yaml", echo), ("note.txt", "two\nlines\n"), ("rest.json", "{\"list\": [1, 2]}")];
    check(&files, &["run echo.yaml --id e-1 --input text=@note.txt --input @rest.json"], expect![[""]]);
}

#[test]
fn broken_charts_and_settings_stop_it() {
    let broken = [("order.yaml", "statechart: {id: order, initial: nowhere, states: {a: {}}}"), ("ok.yaml", ORDER)];
    let settings = [("ok.yaml", ORDER), (".rawko/config.yaml", "services: {x: {comand: [a]}}\n")];
    check(&broken, &["run order.yaml"], expect![[""]]);
    check(&settings, &["run ok.yaml"], expect![[""]]);
}

#[test]
fn without_a_project_the_store_lies_beside_the_chart_and_keeps_out_of_git() {
    let dir = directory(&[("charts/order.yaml", ORDER)]);
    let run = run(dir.path(), &["run", "charts/order.yaml", "--id", "o-1", "--input", "amount=250"], "");
    assert_eq!(run.code, Some(55), "{}", run.stderr);
    let state = dir.path().join("charts/.rawko/state");
    assert_eq!(std::fs::read_to_string(state.join(".gitignore")).unwrap(), "*\n");
    assert!(state.join("rawko.db").is_file());
    let elsewhere = played(dir.path(), &["show o-1", "show o-1 --store charts/.rawko/state/rawko.db"]);
    assert!(elsewhere.contains("there is no store `.rawko/state/rawko.db` yet"), "{elsewhere}");
    assert!(stable(&elsewhere, dir.path()).contains("approval {\"title\":\"Pay 250?\"}"), "{elsewhere}");
}
