//! `rawko run` and the commands after it: charts with services, people and children, on a real store.

use expect_test::{Expect, expect};

use crate::support::{directory, played, run, stable, store_of};

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
            - {type: log, message: {expr: \"'charged ' + string(context.amount)\"}}
    paid: {type: final, output: {receipt: context.receipt}}
    rejected: {type: final, output: {by: context.by}}
  actions:
    remember: {type: assign, context_updates: {by: event.data.by}}
";

/// The service succeeds unless a file marks it as broken.
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
    check(
        &FILES,
        &["run order.yaml --id o-1 --input amount=30"],
        expect![[r#"
        $ rawko run order.yaml --id o-1 --input amount=30
        o-1  order 1.0.0
        start                        [charging]
            context  amount: 30
            context  by: null
            context  receipt: null
            invoked  payment charge_card {"amount":30}
        payment answered             [paid]
            answer   {"receipt":"r-1"}
            context  receipt: null → "r-1"
            log      charged 30
            status   done
            output   {"receipt":"r-1"}
    "#]],
    );
}

#[test]
fn a_failed_call_stops_the_instance_until_somebody_tries_again() {
    let dir = directory(&FILES);
    std::fs::write(dir.path().join("broken"), "").unwrap();
    let failed = played(dir.path(), &["run order.yaml --id o-1 --input amount=30", "show o-1"]);
    std::fs::remove_file(dir.path().join("broken")).unwrap();
    let resumed = played(dir.path(), &["resume o-1"]);
    expect![[r#"
        $ rawko run order.yaml --id o-1 --input amount=30
        o-1  order 1.0.0
        start                        [charging]
            context  amount: 30
            context  by: null
            context  receipt: null
            invoked  payment charge_card {"amount":30}
        payment failed               [charging]
            error    failed: `sh` exited with code 1: card declined
            stalled  the failure of payment is not handled; waiting for a retry
            status   error
        --- stderr
        failed: payment: failed: `sh` exited with code 1: card declined
        o-1 keeps its state; retry with `rawko resume o-1`
        --- exit code 1
        $ rawko show o-1
        o-1  order 1.0.0
        status     stalled
        states     [charging]
        step       1, just now
        started    just now
        failed     payment: failed: `sh` exited with code 1: card declined
                   retry with `rawko resume o-1`
        context    amount: 30
                   by: null
                   receipt: null
        unknown    charge_card, result of the last attempt, key o-1/0/0
        $ rawko resume o-1
        o-1                          [charging]
        > retry                      [charging]
            invoked  payment charge_card {"amount":30}
            status   active
        payment answered             [paid]
            answer   {"receipt":"r-1"}
            context  receipt: null → "r-1"
            log      charged 30
            status   done
            output   {"receipt":"r-1"}
    "#]]
    .assert_eq(&(failed + &resumed));
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
      entry: [{type: log, message: {expr: \"'for ' + context.to\"}}]
      after: {10ms: sent}
    sent: {type: final, output: {tracking: \"'t-1'\"}}
";

#[test]
fn children_are_told_under_their_own_names() {
    let files = [("shop.yaml", PARENT), ("parcel.yaml", CHILD)];
    check(
        &files,
        &["run shop.yaml --id s-1 --with parcel.yaml", "ps --all --json"],
        expect![[r#"
            $ rawko run shop.yaml --id s-1 --with parcel.yaml
            s-1  shop 0.0.0
            start                        [shipping]
                context  tracking: null
                invoked  parcel statechart:parcel@^1 {"to":"Ada"}
              parcel.0  start                        [packing]
              parcel.0      context  to: "Ada"
              parcel.0      log      for Ada
              parcel.0      timer    after 10ms in packing (in 10ms)
              parcel.0  after 10ms in packing        [sent]
              parcel.0      status   done
              parcel.0      output   {"tracking":"t-1"}
            parcel answered              [shipped]
                answer   {"tracking":"t-1"}
                context  tracking: null → "t-1"
                status   done
                output   {"tracking":"t-1"}
            $ rawko ps --all --json
            {
              "v": 1,
              "instances": [
                {
                  "id": "s-1.parcel.0",
                  "chart": "parcel",
                  "version": "1.2.0",
                  "chart_hash": "e52ad3ee01cf0d6cd15e8c98273ac0f6",
                  "status": "ended",
                  "outcome": "succeeded",
                  "title": null,
                  "waiting_for": null,
                  "reason": null,
                  "hint": null,
                  "waits_for": "nothing",
                  "next_due_ms": null,
                  "fault": null,
                  "step": 1,
                  "created_ms": 0,
                  "updated_ms": 0,
                  "updated": "2026-01-05 09:30:00Z",
                  "parent": {
                    "id": "s-1",
                    "invoke": "parcel"
                  },
                  "forked_from": null,
                  "agent": null,
                  "spent": {
                    "tokens": 0,
                    "cost_usd": 0.0,
                    "time_ms": 0,
                    "tool_calls": 0
                  },
                  "configuration": [
                    "sent"
                  ]
                },
                {
                  "id": "s-1",
                  "chart": "shop",
                  "version": "0.0.0",
                  "chart_hash": "ff36e7ca9b7ec21a71a5d80a612a6b5c",
                  "status": "ended",
                  "outcome": "succeeded",
                  "title": null,
                  "waiting_for": null,
                  "reason": null,
                  "hint": null,
                  "waits_for": "nothing",
                  "next_due_ms": null,
                  "fault": null,
                  "step": 1,
                  "created_ms": 0,
                  "updated_ms": 0,
                  "updated": "2026-01-05 09:30:00Z",
                  "parent": null,
                  "forked_from": null,
                  "agent": null,
                  "spent": {
                    "tokens": 0,
                    "cost_usd": 0.0,
                    "time_ms": 0,
                    "tool_calls": 0
                  },
                  "configuration": [
                    "shipped"
                  ]
                }
              ],
              "total": 2,
              "next": null
            }
        "#]],
    );
}

#[test]
fn a_child_that_is_nowhere_is_an_error_the_chart_can_handle() {
    check(
        &[("shop.yaml", PARENT)],
        &["run shop.yaml --id s-1"],
        expect![[r#"
        $ rawko run shop.yaml --id s-1
        s-1  shop 0.0.0
        start                        [shipping]
            context  tracking: null
            invoked  parcel statechart:parcel@^1 {"to":"Ada"}
        parcel failed                [lost]
            error    unknown: chart `parcel` not found
            status   done
    "#]],
    );
}

#[test]
fn programs_read_a_line_for_everything_and_the_result_last() {
    check(
        &FILES,
        &["run order.yaml --id o-1 --input amount=30 --output-format stream-json"],
        expect![[r#"
            $ rawko run order.yaml --id o-1 --input amount=30 --output-format stream-json
            {"v":1,"type":"started","id":"o-1","step":0,"at_ms":0,"seq":1,"chart":"order","version":"1.0.0","parent":null,"input":{"amount":30},"configuration":["charging"],"context":{"amount":30,"by":null,"receipt":null},"status":"active"}
            {"v":1,"type":"invoked","id":"o-1","step":0,"at_ms":0,"invoke":"payment","src":"charge_card","input":{"amount":30},"attempt":1}
            {"v":1,"type":"step","id":"o-1","step":1,"at_ms":0,"seq":2,"event":{"kind":"answered","invoke":"payment","data":{"receipt":"r-1"}},"configuration":["paid"],"context":{"receipt":"r-1"},"status":"done","output":{"receipt":"r-1"}}
            {"v":1,"type":"log","id":"o-1","step":1,"at_ms":0,"message":"charged 30"}
            {"v":1,"type":"result","id":"o-1","outcome":"succeeded","exit_code":0,"status":"ended","configuration":["paid"],"context":{"amount":30,"by":null,"receipt":"r-1"},"output":{"receipt":"r-1"},"error":null,"step":1,"waits":{"asks":[],"events":[],"timers":[]}}
        "#]],
    );
}

#[test]
fn verbose_says_why() {
    check(
        &FILES,
        &["run order.yaml --id o-1 --input amount=30 -v"],
        expect![[r#"
        $ rawko run order.yaml --id o-1 --input amount=30 -v
        o-1  order 1.0.0
        start                        [charging]
            context  amount: 30
            context  by: null
            context  receipt: null
            invoked  payment charge_card {"amount":30}
                  entered   order
                  entered   checking
                eventless transitions
                  taken     checking: always [context.amount <= 100] → charging
                  left      checking
                  entered   charging
        payment answered             [paid]
            answer   {"receipt":"r-1"}
            context  receipt: null → "r-1"
            log      charged 30
            status   done
            output   {"receipt":"r-1"}
                event done.invoke.payment
                  taken     charging: onDone payment → paid
                  left      charging
                  ran       assign receipt
                  assigned  receipt = "r-1"
                  ran       log
                  entered   paid
                  left      paid
                  left      order
    "#]],
    );
}

#[test]
fn an_id_is_made_up_from_the_chart_and_cannot_be_used_twice() {
    let dir = directory(&FILES);
    let made_up = run(dir.path(), &["run", "order.yaml", "--output-format", "json"], "");
    let result: serde_json::Value = serde_json::from_str(&made_up.stdout).unwrap();
    assert!(result["id"].as_str().unwrap().starts_with("order-"), "{result}");
    let twice = played(dir.path(), &["run order.yaml --id o-1", "run order.yaml --id o-1"]);
    assert!(twice.ends_with("error: instance `o-1` already exists\n--- exit code 2\n"), "{twice}");
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
    check(
        &files,
        &["run echo.yaml --id e-1 --input text=@note.txt --input @rest.json"],
        expect![[r#"
        $ rawko run echo.yaml --id e-1 --input text=@note.txt --input @rest.json
        e-1  echo 0.0.0
        start                        [done]
            context  text: "two\nlines\n"
            context  list: [1,2]
            status   done
            output   {"text":"two\nlines\n","list":[1,2]}
    "#]],
    );
}

#[test]
fn broken_charts_and_settings_stop_it() {
    let broken =
        [("order.yaml", "statechart: {id: order, initial: nowhere, states: {a: {}}}"), ("ok.yaml", ORDER)];
    let settings = [("ok.yaml", ORDER), (".rawko/config.yaml", "services: {x: {comand: [a]}}\n")];
    check(
        &broken,
        &["run order.yaml"],
        expect![[r#"
        $ rawko run order.yaml
        --- stderr
        error[rawko::chart::unknown_initial]: the chart starts in `nowhere`, which is not a state inside it
         --> order.yaml:1:34
          |
        1 | statechart: {id: order, initial: nowhere, states: {a: {}}}
          |                                  ^^^^^^^
          |
          = help: its states are `a`

        error: `order.yaml` is invalid
        --- exit code 52
    "#]],
    );
    check(
        &settings,
        &["run ok.yaml"],
        expect![[r#"
        $ rawko run ok.yaml
        --- stderr
        error[rawko::settings::missing_key]: service `x` has none of `command`, `http` and `remote`
         --> .rawko/config.yaml:1:12
          |
        1 | services: {x: {comand: [a]}}
          |            ^
          |
          = help: add `command: [program, argument]`, `http: {url: …}` or `remote: {}`

        error[rawko::settings::unknown_key]: service `x` has no key `comand`
         --> .rawko/config.yaml:1:16
          |
        1 | services: {x: {comand: [a]}}
          |                ^^^^^^
          |
          = help: did you mean `command`?

        error: invalid settings in `.rawko/config.yaml`
        --- exit code 52
    "#]],
    );
}

#[test]
fn without_a_project_the_store_belongs_to_the_directory_of_the_chart() {
    let dir = directory(&[("charts/order.yaml", ORDER)]);
    let run = run(dir.path(), &["run", "charts/order.yaml", "--id", "o-1", "--input", "amount=250"], "");
    assert_eq!(run.code, Some(55), "{}", run.stderr);
    let charts = dir.path().join("charts");
    let store = store_of(&charts);
    assert!(store.is_file() && !charts.join(".rawko").exists());
    let elsewhere = played(dir.path(), &["show o-1", &format!("show o-1 --store {}", store.display())]);
    assert!(elsewhere.contains("rawko.db` not found"), "{elsewhere}");
    assert!(stable(&elsewhere, dir.path()).contains("requests   approval: Pay 250?"), "{elsewhere}");
}
