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
        rawko_chart::load(&rawko_chart::SourceFile::new("s.yaml", text), &rawko_chart::Registry::default());
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

#[test]
fn a_retry_of_one_item_repeats_no_other() {
    let mut walk = Walk::new("src: svc, each: context.list, join: settled", "", "null");
    walk.fail("job[0]", "no").done("job[1]", "1");
    walk.deliver(Event::ItemRetryRequested { item: "job[0]".into() });
    expect!["+job[0] svc null"].assert_eq(&walk.effects());
    let again = |walk: &Walk, item: &str| walk.snapshot.item_retry_problem(&walk.chart, item).unwrap();
    expect!["`job[0]` is running; only a failed item can be retried"].assert_eq(&again(&walk, "job[0]"));
    expect!["`job[1]` is done; only a failed item can be retried"].assert_eq(&again(&walk, "job[1]"));
    expect!["`job` has 3 items, counted from 0"].assert_eq(&again(&walk, "job[3]"));
    expect!["no `each` with the id `other` is active"].assert_eq(&again(&walk, "other[0]"));
    expect!["`job` is not the name of an item; write for example `reviews[3]`"]
        .assert_eq(&again(&walk, "job"));
    // A retry that is not possible changes nothing.
    walk.deliver(Event::ItemRetryRequested { item: "job[1]".into() });
    expect![""].assert_eq(&walk.effects());
    walk.done("job[0]", "0").done("job[2]", "2");
    expect![[
        r#"finished [{"status":"done","data":0},{"status":"done","data":1},{"status":"done","data":2}]"#
    ]]
    .assert_eq(&walk.end());
}

#[test]
fn a_retried_item_waits_for_a_place() {
    let mut walk = Walk::new("src: svc, each: context.list, join: settled, max_concurrent: 1", "", "null");
    walk.fail("job[0]", "no");
    walk.deliver(Event::ItemRetryRequested { item: "job[0]".into() });
    expect![""].assert_eq(&walk.effects());
    walk.done("job[1]", "1");
    expect!["+job[0] svc null"].assert_eq(&walk.effects());
    walk.done("job[0]", "0").done("job[2]", "2");
    expect![[
        r#"finished [{"status":"done","data":0},{"status":"done","data":1},{"status":"done","data":2}]"#
    ]]
    .assert_eq(&walk.end());
}

#[test]
fn one_item_of_a_failed_each_is_retried_while_its_state_is_active() {
    let text = "statechart: {id: s, version: 1.0.0, initial: w, states: {w: {invoke: {id: job, src: svc,
        each: '[1, 2, 3, 4]', join: {at_least: 3}, onDone: e}}, e: {type: final, output: event.data}}}";
    let loaded =
        rawko_chart::load(&rawko_chart::SourceFile::new("s.yaml", text), &rawko_chart::Registry::default());
    let chart = loaded.chart.unwrap();
    let (snapshot, last) = rawko_core::start(&chart, rawko_core::Value::Null, 0).unwrap();
    let mut walk = Walk { chart, snapshot, last, now_ms: 0 };
    walk.done("job[0]", "1").fail("job[1]", "no").fail("job[2]", "no");
    assert!(walk.is_stalled());
    walk.deliver(Event::ItemRetryRequested { item: "job[2]".into() });
    expect![[r#"
        +job[2] svc null
        +job[3] svc null"#]]
    .assert_eq(&walk.effects());
    assert!(!walk.is_stalled());
    walk.done("job[2]", "3").done("job[3]", "4");
    let states = r#"[{"status":"done","data":1},{"status":"error","error":{"category":"failed","message":"no"}},{"status":"done","data":3},{"status":"done","data":4}]"#;
    assert_eq!(walk.snapshot.output().to_string(), states);
}
