//! The joins: what `onDone` and `onError` get, and when.

use expect_test::{Expect, expect};
use rawko_core::Event;

use crate::Walk;

/// Answers: `0+` for a success of item 0, `1-` for a failure of item 1.
fn check(invoke: &str, answers: &[&str], expected: Expect) {
    let mut walk = Walk::new(&format!("src: svc, each: context.list, {invoke}"), "", "null");
    for answer in answers {
        let (index, sign) = answer.split_at(1);
        match sign {
            "+" => walk.done(&format!("job[{index}]"), &format!("\"r{index}\"")),
            _ => walk.fail(&format!("job[{index}]"), &format!("f{index}")),
        };
    }
    expected.assert_eq(&format!("{}\nseen {}\n{}", walk.end(), walk.context("seen"), walk.effects()));
}

const HANDLERS: &str = "onItemDone: {actions: note}, onItemError: {actions: note}";

#[test]
fn all() {
    check(
        "join: all",
        &["2+", "0+", "1+"],
        expect![[r#"
        finished ["r0","r1","r2"]
        seen []
    "#]],
    );
    check(
        "join: all",
        &["2+", "1-"],
        expect![[r#"
        failed {"index":1,"item":"b","error":{"category":"failed","message":"f1"}}
        seen []
        -job[0]"#]],
    );
    check(
        &format!("join: all, {HANDLERS}"),
        &["2+", "1-", "0+"],
        expect![[r#"
        finished ["r0",null,"r2"]
        seen [[2,"c","r2"],[1,"b",{"category":"failed","message":"f1"}],[0,"a","r0"]]
    "#]],
    );
}

#[test]
fn settled() {
    check(
        "join: settled",
        &["2-", "1-", "0+"],
        expect![[r#"
        finished [{"status":"done","data":"r0"},{"status":"error","error":{"category":"failed","message":"f1"}},{"status":"error","error":{"category":"failed","message":"f2"}}]
        seen []
    "#]],
    );
}

#[test]
fn any() {
    check(
        "join: any",
        &["2-", "1+"],
        expect![[r#"
        finished {"index":1,"item":"b","data":"r1"}
        seen []
        -job[0]"#]],
    );
    check(
        "join: any",
        &["2-", "0-", "1-"],
        expect![[r#"
        failed {"index":1,"item":"b","error":{"category":"failed","message":"f1"}}
        seen []
    "#]],
    );
    check(
        &format!("join: any, {HANDLERS}"),
        &["2-", "0-", "1-"],
        expect![[r#"
        failed {"index":1,"item":"b","error":{"category":"failed","message":"f1"}}
        seen [[2,"c",{"category":"failed","message":"f2"}],[0,"a",{"category":"failed","message":"f0"}],[1,"b",{"category":"failed","message":"f1"}]]
    "#]],
    );
}

#[test]
fn at_least() {
    check(
        "join: {at_least: 2}",
        &["2+", "0+"],
        expect![[r#"
        finished [{"status":"done","data":"r0"},{"status":"stopped"},{"status":"done","data":"r2"}]
        seen []
        -job[1]"#]],
    );
    check(
        "join: {at_least: 2}",
        &["2-", "0+", "1+"],
        expect![[r#"
        finished [{"status":"done","data":"r0"},{"status":"done","data":"r1"},{"status":"error","error":{"category":"failed","message":"f2"}}]
        seen []
    "#]],
    );
    check(
        "join: {at_least: 2}",
        &["2-", "0-"],
        expect![[r#"
        failed {"index":0,"item":"a","error":{"category":"failed","message":"f0"}}
        seen []
        -job[1]"#]],
    );
    check(
        "join: {at_least: 1}, max_concurrent: 1",
        &["0+"],
        expect![[r#"
        finished [{"status":"done","data":"r0"},{"status":"stopped"},{"status":"stopped"}]
        seen []
    "#]],
    );
}

#[test]
fn item_handlers_have_the_item_and_take_no_wildcards() {
    let more = "      on: {'*': failed, 'done.*': failed}";
    let handlers = "onItemDone: [{guard: item == 'b', actions: [{type: assign, context_updates: {flag: 'event.invokeid ~ \" \" ~ event.type ~ \" \" ~ index'}}]}]";
    let mut walk = Walk::new(&format!("src: svc, each: context.list, {handlers}"), more, "null");
    walk.done("job[0]", "1").done("job[1]", "2");
    expect!["job[1] done.invoke.job[1] 1"].assert_eq(&walk.context("flag"));
    walk.done("job[2]", "3");
    expect!["finished [1,2,3]"].assert_eq(&walk.end());
}

#[test]
fn a_failure_that_nothing_handles_stalls_and_a_retry_repeats_only_what_is_missing() {
    let text = "statechart: {id: s, version: 1.0.0, initial: w, states: {w: {invoke: {id: job, src: svc,
        each: '[1, 2, 3]', onDone: e}}, e: {type: final, output: event.data}}}";
    let loaded =
        rawko_chart::load(&rawko_chart::Source::new("s.yaml", text), &rawko_chart::Registry::default());
    let chart = loaded.chart.unwrap();
    let (snapshot, last) = rawko_core::start(&chart, rawko_core::Value::Null, 0).unwrap();
    let mut walk = Walk { chart, snapshot, last, now_ms: 0 };
    let old = walk.id("job[1]");
    walk.done("job[2]", "3").fail("job[1]", "no");
    expect![[r#"
        -job[0]
        stall job {"index":1,"item":2,"error":{"category":"failed","message":"no"}}"#]]
    .assert_eq(&walk.effects());
    assert!(walk.is_stalled());
    walk.deliver(Event::RetryRequested);
    expect![[r#"
        +job[0] svc null
        +job[1] svc null"#]]
    .assert_eq(&walk.effects());
    walk.deliver(Event::InvokeDone { invocation: old, data: rawko_core::Value::Int(9) });
    assert_eq!(walk.snapshot.fan_outs()[0].counts().done, 1, "an answer of the earlier attempt is stale");
    walk.done("job[1]", "2").done("job[0]", "1");
    assert_eq!(walk.snapshot.output().to_string(), "[1,2,3]");
}
