//! Stopping, retries and timeouts of items.

use expect_test::expect;
use rawko_core::{Event, Value};

use crate::Walk;

const RETRY: &str = "retry: {max_attempts: 2, backoff: fixed, initial_delay: 100}";

#[test]
fn leaving_the_state_stops_every_started_item() {
    let more = "      on: {GIVE_UP: failed}";
    let mut walk =
        Walk::new(&format!("src: svc, each: context.list, max_concurrent: 2, {RETRY}"), more, "null");
    walk.fail("job[0]", "x").deliver(Event::named("GIVE_UP", Value::Null));
    expect![[r#"
        -job[0]
        -job[1]"#]]
    .assert_eq(&walk.effects());
    assert!(walk.snapshot.fan_outs().is_empty() && walk.snapshot.timers().is_empty());
}

#[test]
fn cancelling_stops_every_item() {
    let mut walk = Walk::new("src: svc, each: context.list, timeout: 1s", "", "null");
    walk.done("job[1]", "1").deliver(Event::CancelRequested { reason: Value::Null });
    expect![[r#"
        -job[0]
        -job[2]"#]]
    .assert_eq(&walk.effects());
    assert!(walk.snapshot.fan_outs().is_empty() && walk.snapshot.timers().is_empty());
}

#[test]
fn a_waiting_retry_keeps_its_place() {
    let mut walk =
        Walk::new(&format!("src: svc, each: context.list, max_concurrent: 1, {RETRY}"), "", "null");
    walk.fail("job[0]", "x");
    assert_eq!(walk.effects(), "");
    walk.fire();
    expect!["+job[0] svc null"].assert_eq(&walk.effects());
    walk.done("job[0]", "0");
    expect!["+job[1] svc null"].assert_eq(&walk.effects());
    walk.fail("job[1]", "y").fire().fail("job[1]", "z");
    expect![[r#"failed {"index":1,"item":"b","error":{"category":"failed","message":"z"}}"#]]
        .assert_eq(&walk.end());
}

#[test]
fn a_timeout_is_the_failure_of_one_item() {
    let mut walk = Walk::new(
        "src: svc, each: context.list, timeout: 50, join: settled, onItemError: {actions: note}",
        "",
        "null",
    );
    walk.done("job[0]", "0").fire();
    expect!["-job[1]"].assert_eq(&walk.effects());
    expect![[r#"[[1,"b",{"category":"timeout","message":"`job[1]` took longer than its timeout"}]]"#]]
        .assert_eq(&walk.context("seen"));
    walk.fire();
    expect![[r#"finished [{"status":"done","data":0},{"status":"error","error":{"category":"timeout","message":"`job[1]` took longer than its timeout"}},{"status":"error","error":{"category":"timeout","message":"`job[2]` took longer than its timeout"}}]"#]].assert_eq(&walk.end());
}

#[test]
fn an_item_handler_may_lead_out_of_the_state() {
    let more = "      always: {target: finished, guard: length(context.seen) >= 2}";
    let mut walk = Walk::new(
        "src: svc, each: context.list, max_concurrent: 2, onItemDone: {actions: note}",
        more,
        "null",
    );
    walk.done("job[0]", "0");
    expect!["+job[2] svc null"].assert_eq(&walk.effects());
    walk.done("job[1]", "1");
    expect!["-job[2]"].assert_eq(&walk.effects());
    expect!["finished null"].assert_eq(&walk.end());
}

#[test]
fn a_visit_knows_nothing_of_the_one_before() {
    let more = "      on: {GIVE_UP: failed}";
    let mut walk = Walk::new("src: svc, each: context.list", more, "null");
    let old = walk.id("job[0]");
    walk.deliver(Event::named("GIVE_UP", Value::Null)).deliver(Event::named("BACK", Value::Null));
    walk.deliver(Event::InvokeDone { invocation: old, data: Value::Int(1) });
    assert_eq!(walk.snapshot.fan_outs()[0].counts().done, 0);
    assert!(!walk.last.is_effective());
}
