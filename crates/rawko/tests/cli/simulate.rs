//! `rawko simulate`: the promised JSON, the transcript, and where charts, stubs and stimuli come from.

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
    complain: {type: log, message: \"'not you'\"}
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
    check(&[&args[..], &["--json"]].concat(), "", expect![[""]]);
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
    check(&args, "", expect![[""]]);
}

#[test]
fn verbose_says_why() {
    let args = ["simulate", "order.yaml", "--input", "{\"amount\": 250}", "-v"];
    check(
        &args,
        "{\"type\":\"APPROVED\",\"data\":{\"by\":\"bo\"}}\n{\"type\":\"NONSENSE\"}\n",
        expect![[""]],
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
        expect![[""]],
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
    check(&["simulate", "-", "--json"], ORDER, expect![[""]]);
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
