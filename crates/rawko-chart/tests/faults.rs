//! Expressions that fail while an instance runs: the faults recorded by the step, and the start and end of a stall that
//! they cause. Their effect on the chart is tested in the walkthroughs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "tests")]

use expect_test::{Expect, expect};
use rawko_chart::{Registry, SourceFile, load};
use rawko_core::{Chart, Effect, Event, Snapshot, Status, Step, Value, start, step};

fn chart(states: &str) -> Chart {
    let text = format!("statechart: {{id: faulty, version: 1.0.0, initial: idle, {states}}}");
    load(&SourceFile::new("faulty.yaml", text), &Registry::default()).chart.expect("a chart")
}

/// Starts the chart with this input and delivers these events; returns the result of the last one.
fn walk(chart: &Chart, input: &Value, events: &[&str]) -> (Snapshot, Step) {
    let (mut snapshot, mut taken) = start(chart, input.clone(), 0).unwrap();
    for event in events {
        taken = deliver(chart, &mut snapshot, Event::named(*event, Value::Null));
    }
    (snapshot, taken)
}

/// Delivers an event, and checks that the snapshot survives its JSON and its delta.
fn deliver(chart: &Chart, snapshot: &mut Snapshot, event: Event) -> Step {
    let mut replayed = snapshot.clone();
    let taken = step(chart, snapshot, event, 0).unwrap();
    let delta = snapshot.delta_json(&replayed, chart);
    replayed.apply_delta_json(chart, &delta).unwrap();
    assert_eq!(&replayed, snapshot);
    assert_eq!(&Snapshot::from_json(chart, &snapshot.to_json(chart)).unwrap(), snapshot);
    taken
}

fn check(step: &Step, expected: Expect) {
    let effects: Vec<_> = step.effects.iter().map(|effect| serde_json::to_string(effect).unwrap()).collect();
    expected.assert_eq(&effects.join("\n"));
}

#[test]
fn a_fault_stands_in_the_record_between_the_effects_around_it() {
    let chart = chart(
        "context: {name: ada}, states: {idle: {on: {GO: {guard: 'true', actions: [
            {type: log, message: first}, {type: log, message: {expr: -context.name}}, {type: log, message: never}]}}}}",
    );
    let (_, step) = walk(&chart, &Value::Null, &["GO"]);
    check(
        &step,
        expect![[r#"
            {"effect":"log","message":"first"}
            {"effect":"fault","what":"action","state":"idle","at":"GO","message":"`log`: `-` takes a number, not a string in `-context.name`"}"#]],
    );
    let read: Vec<Effect> = serde_json::from_str(&serde_json::to_string(&step.effects).unwrap()).unwrap();
    assert_eq!(read, step.effects);
}

#[test]
fn an_event_that_only_makes_a_guard_fail_has_no_effect() {
    let chart =
        chart("context: {name: ada}, states: {idle: {on: {GO: {target: idle, guard: context.name > 5}}}}");
    let (_, step) = walk(&chart, &Value::Null, &["GO"]);
    assert_eq!((step.handled, step.is_effective(), step.effects.len()), (false, false, 1));
}

#[test]
fn a_step_records_a_bounded_number_of_faults() {
    let chart = chart(
        "context: {items: []}, states: {idle: {on: {GO: {actions: [{type: foreach, array: context.items, item: item, actions: [
            {type: choose, branches: [{guard: {expr: \"context.items[item ~ 'th']\"}, actions: []}]}]}]}}}}",
    );
    let items = Value::list((0..1_000).map(Value::Int).collect());
    let (_, step) = walk(&chart, &Value::map([("items", items)]), &["GO"]);
    // All of them are the same fault.
    assert_eq!(step.effects.len(), 1);

    let many = (0..100).map(|number| {
        format!("{{type: choose, branches: [{{guard: 'context.items > {number}', actions: []}}]}}")
    });
    let many = many.collect::<Vec<_>>().join(", ");
    let chart = self::chart(&format!(
        "context: {{items: []}}, states: {{idle: {{on: {{GO: {{actions: [{many}]}}}}}}}}"
    ));
    let (_, step) = walk(&chart, &Value::Null, &["GO"]);
    assert_eq!(step.effects.len(), 65);
    let Some(Effect::Fault(last)) = step.effects.last() else { panic!("{:?}", step.effects) };
    expect!["more expressions failed in this step; the first 64 are recorded"].assert_eq(&last.message);
}

#[test]
fn an_invoke_that_cannot_start_stalls_and_a_retry_evaluates_it_again() {
    let chart = chart(
        "context: {goal: [1]}, states: {idle: {on: {GO: work}}, work: {
            invoke: {id: job, src: svc, input: {goal: context.goal + 1}},
            on: {FIX: {actions: [{type: assign, context_updates: {goal: '1'}}]}}}}",
    );
    let (mut snapshot, step) = walk(&chart, &Value::Null, &["GO"]);
    check(
        &step,
        expect![[r#"
            {"effect":"fault","what":"invoke","state":"work","at":"job","message":"`input`: `+` takes two numbers, two strings or two lists, not a list and a number; append() adds one element in `context.goal + 1`"}
            {"effect":"stall","id":"job","error":{"category":"execution","message":"invoke `job`: `input`: `+` takes two numbers, two strings or two lists, not a list and a number; append() adds one element in `context.goal + 1`","retryable":false}}"#]],
    );
    assert_eq!(snapshot.status(), Status::Error);
    assert_eq!(chart.failure_name(snapshot.failure().unwrap()), "job");
    assert!(snapshot.invocations().is_empty());

    deliver(&chart, &mut snapshot, Event::RetryRequested);
    assert_eq!(snapshot.status(), Status::Error);
    deliver(&chart, &mut snapshot, Event::named("FIX", Value::Null));
    let step = deliver(&chart, &mut snapshot, Event::RetryRequested);
    check(
        &step,
        expect![[
            r#"{"effect":"invoke","invocation":3,"id":"job","src":"svc","input":{"goal":2},"attempt":1,"policy":null}"#
        ]],
    );
    assert_eq!(snapshot.status(), Status::Active);
}

#[test]
fn a_timer_that_cannot_be_set_stalls_and_a_retry_sets_it() {
    let chart = chart(
        "context: {wait: soon}, states: {idle: {on: {GO: waiting}}, waiting: {
            after: {1h: idle, context.wait: idle},
            on: {FIX: {actions: [{type: assign, context_updates: {wait: '2000'}}]}}}}",
    );
    let (mut snapshot, step) = walk(&chart, &Value::Null, &["GO"]);
    check(
        &step,
        expect![[r#"
            {"effect":"set_timer","timer":1,"due_ms":3600000}
            {"effect":"fault","what":"delay","state":"waiting","at":"after context.wait","message":"`soon` is not a duration; write for example `1500`, `250ms`, `30s`, `15m`, `24h`, `7d` or `PT1H`"}
            {"effect":"stall","id":"after.waiting","error":{"category":"execution","message":"delay of `waiting`: `soon` is not a duration; write for example `1500`, `250ms`, `30s`, `15m`, `24h`, `7d` or `PT1H`","retryable":false}}"#]],
    );
    assert_eq!(chart.failure_name(snapshot.failure().unwrap()), "after context.wait in waiting");
    deliver(&chart, &mut snapshot, Event::named("FIX", Value::Null));
    let step = deliver(&chart, &mut snapshot, Event::RetryRequested);
    check(&step, expect![[r#"{"effect":"set_timer","timer":2,"due_ms":2000}"#]]);
    assert_eq!(snapshot.status(), Status::Active);
}

#[test]
fn two_failures_stall_until_both_are_over() {
    let region = |id: &str| {
        format!(
            "{id}: {{initial: work, states: {{
            work: {{invoke: {{id: {id}, src: svc, input: {{n: context.goal - 1}}}}, on: {{SKIP_{id}: end}}}},
            end: {{type: final}}}}}}"
        )
    };
    let chart = chart(&format!(
        "context: {{goal: []}}, states: {{idle: {{on: {{GO: both}}}}, both: {{type: parallel, states: {{{}, {}}}, onDone: idle}}}}",
        region("a"),
        region("b"),
    ));
    let (mut snapshot, _) = walk(&chart, &Value::Null, &["GO"]);
    assert_eq!(snapshot.failures().len(), 2);
    for (event, status, left) in [("SKIP_a", Status::Error, 1), ("SKIP_b", Status::Active, 0)] {
        deliver(&chart, &mut snapshot, Event::named(event, Value::Null));
        assert_eq!((snapshot.status(), snapshot.failures().len()), (status, left), "{event}");
    }
}

/// Every round fails again immediately: the microstep limit ends it, not the stack.
#[test]
fn an_on_error_that_leads_back_to_the_same_failure_is_a_runaway() {
    let chart = chart(
        "context: {goal: []}, states: {idle: {on: {GO: work}}, work: {
            invoke: {id: job, src: svc, input: {n: context.goal - 1}, onError: {target: work, reenter: true}}}}",
    );
    let (mut snapshot, _) = walk(&chart, &Value::Null, &[]);
    let error = step(&chart, &mut snapshot, Event::named("GO", Value::Null), 0).unwrap_err();
    expect![[r#"more than 1000 microsteps without coming to rest (last active: work); eventless transitions or raised events feed each other"#]].assert_eq(&error.to_string());
}
