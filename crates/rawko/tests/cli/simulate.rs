//! `rawko simulate`: the documented JSON, the transcript, and the sources of charts, stubs and stimuli.

use expect_test::{Expect, expect};

use crate::support::{directory, run, transcript};

const ORDER: &str = "\
statechart:
  id: order
  version: '1.0.0'
  initial: checking
  context: {amount: 0, receipt: null}
  states:
    checking:
      always:
        - {target: charging, guard: 'context.amount <= 100'}
        - {target: waiting}
    waiting:
      entry: [ask]
      on:
        APPROVED:
          - {target: charging, guard: \"event.data.by == 'ada'\"}
          - {actions: [complain]}
      after:
        24h: expired
    charging:
      invoke:
        id: payment
        src: charge_card
        input: {amount: context.amount}
        onDone:
          target: paid
          actions:
            - {type: assign, context_updates: {receipt: event.data.receipt}}
        onError: expired
    paid:
      type: final
      output: {receipt: context.receipt}
    expired:
      type: final
  actions:
    ask: {type: send, target: 'channel:approvals', event: ASKED, data: {amount: context.amount}}
    complain: {type: log, message: not you}
";

const EVENTS: &str = "\
{\"type\":\"APPROVED\",\"data\":{\"by\":\"bo\"}}
{\"advance\":\"1h\"}
{\"type\":\"APPROVED\",\"data\":{\"by\":\"ada\"}}
{\"advance\":2000}
";

const STUBS: &str = "charge_card: {after: 2s, done: {receipt: r-1}}\n";

fn check(args: &[&str], stdin: &str, expect: Expect) {
    let dir = directory(&[("order.yaml", ORDER), ("events.jsonl", EVENTS), ("stubs.yaml", STUBS)]);
    expect.assert_eq(&transcript(dir.path(), args, stdin));
}

#[test]
fn json_is_one_line_for_the_start_and_one_per_stimulus() {
    let args = [
        "simulate",
        "order.yaml",
        "--services",
        "stubs.yaml",
        "--events",
        "events.jsonl",
        "--input",
        "amount=250",
    ];
    check(
        &[&args[..], &["--json"]].concat(),
        "",
        expect![[r#"
            $ rawko simulate order.yaml --services stubs.yaml --events events.jsonl --input amount=250 --json
            {"step":0,"stimulus":null,"configuration":["waiting"],"context":{"amount":250,"receipt":null},"status":"active","log":[],"emitted":[],"sent":[{"target":"channel:approvals","type":"ASKED","data":{"amount":250}}],"invoked":[],"output":null}
            {"step":1,"stimulus":{"type":"APPROVED","data":{"by":"bo"}},"configuration":["waiting"],"context":{"amount":250,"receipt":null},"status":"active","log":["not you"],"emitted":[],"sent":[],"invoked":[],"output":null}
            {"step":2,"stimulus":{"advance":"1h"},"configuration":["waiting"],"context":{"amount":250,"receipt":null},"status":"active","log":[],"emitted":[],"sent":[],"invoked":[],"output":null}
            {"step":3,"stimulus":{"type":"APPROVED","data":{"by":"ada"}},"configuration":["charging"],"context":{"amount":250,"receipt":null},"status":"active","log":[],"emitted":[],"sent":[],"invoked":[{"id":"payment","src":"charge_card","input":{"amount":250}}],"output":null}
            {"step":4,"stimulus":{"advance":2000},"configuration":["paid"],"context":{"amount":250,"receipt":"r-1"},"status":"done","log":[],"emitted":[],"sent":[],"invoked":[],"output":{"receipt":"r-1"}}
        "#]],
    );
}

#[test]
fn a_transcript_says_what_changed() {
    let args = [
        "simulate",
        "order.yaml",
        "--services",
        "stubs.yaml",
        "--events",
        "events.jsonl",
        "--input",
        "amount=250",
    ];
    check(
        &args,
        "",
        expect![[r#"
            $ rawko simulate order.yaml --services stubs.yaml --events events.jsonl --input amount=250
            start                        [waiting]
                context  amount: 250
                context  receipt: null
                sent     channel:approvals ASKED {"amount":250}
            > APPROVED {"by":"bo"}       [waiting]
                log      not you
            > +1h                        [waiting]
            > APPROVED {"by":"ada"}      [charging]
                invoked  payment charge_card {"amount":250}
            > +2s                        [paid]
                context  receipt: null → "r-1"
                status   done
                output   {"receipt":"r-1"}
        "#]],
    );
}

#[test]
fn verbose_says_why() {
    let args = ["simulate", "order.yaml", "--input", "{\"amount\": 250}", "-v"];
    check(
        &args,
        "{\"type\":\"APPROVED\",\"data\":{\"by\":\"bo\"}}\n{\"type\":\"NONSENSE\"}\n",
        expect![[r#"
            $ rawko simulate order.yaml --input {"amount": 250} -v
            start                        [waiting]
                context  amount: 250
                context  receipt: null
                sent     channel:approvals ASKED {"amount":250}
                      entered   order
                      entered   checking
                    eventless transitions
                      not taken checking: always [context.amount <= 100] → charging: its guard is false
                      taken     checking: always → waiting
                      left      checking
                      entered   waiting
                      ran       ask
            > APPROVED {"by":"bo"}       [waiting]
                log      not you
                    event APPROVED
                      not taken waiting: APPROVED [event.data.by == 'ada'] → charging: its guard is false
                      taken     waiting: APPROVED / complain
                      ran       complain
            > NONSENSE                   [waiting]
                refused  no state of the chart handles the event `NONSENSE`; its events are `APPROVED`
        "#]],
    );
}

#[test]
fn verbose_json_keeps_its_lines_clean() {
    let dir = directory(&[("order.yaml", ORDER)]);
    let run = run(dir.path(), &["simulate", "order.yaml", "--json", "-v"], "{\"advance\":1}\n");
    assert_eq!(run.stdout.lines().count(), 2);
    assert!(run.stdout.lines().all(|line| line.starts_with("{\"step\":")));
    assert!(run.stderr.contains("entered"));
}

#[test]
fn keys_are_in_the_promised_order() {
    let dir = directory(&[("order.yaml", ORDER)]);
    let run = run(
        dir.path(),
        &["simulate", "order.yaml", "--json"],
        "{\"advance\":1}\n{\"type\":\"X\",\"data\":1}\n",
    );
    let keys = [
        "step",
        "stimulus",
        "configuration",
        "context",
        "status",
        "log",
        "emitted",
        "sent",
        "invoked",
        "output",
    ];
    for line in run.stdout.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(value.as_object().unwrap().keys().collect::<Vec<_>>(), keys);
    }
}

#[test]
fn an_invoke_without_a_stub_waits_for_a_stimulus() {
    check(
        &["simulate", "order.yaml"],
        "{\"advance\":\"7d\"}\n{\"type\":\"done.invoke.payment\",\"data\":{\"receipt\":\"by hand\"}}\n",
        expect![[r#"
            $ rawko simulate order.yaml
            start                        [charging]
                context  amount: 0
                context  receipt: null
                invoked  payment charge_card {"amount":0}
            > +7d                        [charging]
            > done.invoke.payment {"receipt":"by hand"} [paid]
                context  receipt: null → "by hand"
                status   done
                output   {"receipt":"by hand"}
        "#]],
    );
}

#[test]
fn a_chart_can_come_from_standard_input() {
    let dir = directory(&[("none.jsonl", "")]);
    let run = run(dir.path(), &["simulate", "-", "--events", "none.jsonl", "--json"], ORDER);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.stdout.lines().count(), 1);
}

#[test]
fn only_one_thing_can_come_from_standard_input() {
    check(
        &["simulate", "-", "--events", "-", "--json"],
        ORDER,
        expect![[r#"
            $ rawko simulate - --events - --json
            --- stderr
            error: only one file can be `-` (standard input)
            --- exit code 2
        "#]],
    );
}

#[test]
fn agents_and_env_are_what_the_options_say() {
    let chart = "\
statechart:
  id: picker
  initial: a
  context: {who: null, where: null}
  states:
    a:
      entry:
        - {type: assign, context_updates: {who: \"agents.select('reviewer', 'code')\", where: env.REGION}}
";
    let dir = directory(&[
        ("picker.yaml", chart),
        ("agents.json", "[{\"id\": \"rita\", \"roles\": [\"reviewer\"], \"task_types\": [\"code\"]}]"),
    ]);
    let args = ["simulate", "picker.yaml", "--agents", "agents.json", "--env", "REGION=eu", "--json"];
    let run = run(dir.path(), &args, "");
    assert!(run.stdout.contains(r#""context":{"who":"rita","where":"eu"}"#), "{}{}", run.stdout, run.stderr);
}

#[test]
fn children_come_from_with_or_from_the_project() {
    let parent = "\
statechart:
  id: parent
  initial: a
  states:
    a:
      invoke: {id: kid, src: 'statechart:kid@1.0.0', onDone: b, onError: b}
    b: {type: final}
";
    let kid = "\
statechart:
  id: kid
  version: '1.0.0'
  initial: a
  states:
    a: {after: {10s: b}}
    b: {type: final}
";
    let registry = "machine_registry:\n  - {id: kid, version: '1.0.0', src: charts/kid.yaml}\n";
    let apart = directory(&[("parent.yaml", parent), ("kid.yaml", kid)]);
    let project = directory(&[
        ("parent.yaml", parent),
        (".rawko/charts/kid.yaml", kid),
        (".rawko/registry.yaml", registry),
    ]);
    let advance = "{\"advance\":10000}\n";
    let given = run(apart.path(), &["simulate", "parent.yaml", "--with", "kid.yaml", "--json"], advance);
    assert!(given.stdout.lines().last().unwrap().contains("\"status\":\"done\""), "{}", given.stdout);
    let registered = run(project.path(), &["simulate", "parent.yaml", "--json"], advance);
    assert_eq!(registered.stdout, given.stdout);
    let missing = run(apart.path(), &["simulate", "parent.yaml", "--json"], advance);
    assert!(missing.stdout.lines().last().unwrap().contains("\"status\":\"active\""), "{}", missing.stdout);
}
