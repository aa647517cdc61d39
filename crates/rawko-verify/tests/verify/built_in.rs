//! Built-in properties: for each a chart that breaks it, with its shortest trace, and one that keeps it.

use expect_test::{Expect, expect};

use crate::support::{report, shown};

fn check(name: &str, texts: &[&str], expected: Expect) {
    expected.assert_eq(&shown(texts, name));
}

/// The built-in properties that are not proved.
fn not_proved(texts: &[&str]) -> Vec<String> {
    let report = report(texts);
    let open = report.properties.iter().filter(|property| property.verdict.as_str() != "holds");
    open.map(|property| format!("{} {}", property.name, property.verdict.as_str())).collect()
}

const NONE: [String; 0] = [];

#[test]
fn a_state_without_a_way_out_is_a_trap() {
    let broken = "{id: c, initial: a, states: {a: {on: {GO: b, END: done}}, b: {}, done: {type: final}}}";
    check(
        "no_trap",
        &[broken],
        expect![[r#"
        violated: this state is not final and has no way out
          {"type":"GO"}
          → b (active)
    "#]],
    );
    assert_eq!(not_proved(&[broken]), ["no_trap violated"]);
    let kept =
        "{id: c, initial: a, states: {a: {on: {GO: b}}, b: {on: {BACK: a, END: done}}, done: {type: final}}}";
    check(
        "no_trap",
        &[kept],
        expect![[r#"
        holds: all 3 reachable states, with the default input
    "#]],
    );
    assert_eq!(not_proved(&[kept]), NONE);
}

#[test]
fn states_that_never_reach_the_end_are_a_trap() {
    let broken = "
id: c
initial: a
states:
  a: {on: {GO: b, END: done}}
  b: {on: {X: c}}
  c: {after: {1m: b}}
  done: {type: final}
";
    check(
        "no_trap",
        &[broken],
        expect![[r#"
        violated: no final state can be reached from here
          {"type":"GO"}
          → b (active)
    "#]],
    );
    let endless = "{id: light, initial: off, states: {off: {on: {PRESS: on}}, on: {after: {1h: off}}}}";
    check(
        "no_trap",
        &[endless],
        expect![[r#"
        holds: all 2 reachable states, with the default input
    "#]],
    );
}

#[test]
fn a_guard_that_no_data_satisfies_is_no_way_out() {
    let broken = "
id: c
initial: a
context: {n: 0}
states:
  a: {on: {GO: {target: b, actions: [{type: assign, context_updates: {n: '1'}}]}}}
  b: {on: {END: {target: done, guard: 'context.n > 1'}}}
  done: {type: final}
";
    check(
        "no_trap",
        &[broken],
        expect![[r#"
            violated: no final state can be reached from here
              → a (active)
        "#]],
    );
    let kept = broken.replace("context.n > 1", "event.data.amount > 100");
    check(
        "no_trap",
        &[&kept],
        expect![[r#"
        holds: all 3 reachable states, with the default input
    "#]],
    );
}

const WORK: &str = "
id: c
initial: waiting
states:
  waiting: {invoke: {id: child, src: 'statechart:child', onDone: done, onError: done}}
  done: {type: final}
";

#[test]
fn a_child_that_never_ends_stalls_its_parent() {
    let endless = "{id: child, initial: a, states: {a: {on: {X: b}}, b: {on: {Y: a}}}}";
    check(
        "no_stall",
        &[WORK, endless],
        expect![[r#"
        violated: the pending work can never answer, and nothing else can happen
          → waiting (active) invokes statechart:child
    "#]],
    );
    assert_eq!(not_proved(&[WORK, endless]), ["no_stall violated"]);
    let ending = "{id: child, initial: a, states: {a: {on: {X: b}}, b: {type: final}}}";
    check(
        "no_stall",
        &[WORK, ending],
        expect![[r#"
        holds: all 4 reachable states, with the default input
    "#]],
    );
    assert_eq!(not_proved(&[WORK, ending]), NONE);
}

#[test]
fn eventless_transitions_come_to_rest() {
    let broken = "
id: c
initial: a
context: {n: 0}
states:
  a: {on: {GO: b, END: done}}
  b: {always: {target: d, guard: 'context.n == 0'}}
  d: {always: {target: b, guard: 'context.n == 0'}}
  done: {type: final}
";
    check(
        "bounded_eventless",
        &[broken],
        expect![[r#"
        violated: more than 1000 microsteps without coming to rest (last active: d); eventless transitions or raised events feed each other
          {"type":"GO"}
          → a (error) more than 1000 microsteps without coming to rest (last active: d); eventless transitions or raised events feed each other
    "#]],
    );
    let kept = broken.replace("target: b, guard: 'context.n == 0'", "target: done, guard: 'context.n == 0'");
    check(
        "bounded_eventless",
        &[&kept],
        expect![[r#"
        holds: all 2 reachable states, with the default input
    "#]],
    );
    assert_eq!(not_proved(&[&kept]), NONE);
}

#[test]
fn a_timeout_that_nothing_handles() {
    let broken = "
id: c
initial: paying
states:
  paying: {invoke: {id: pay, src: bank, timeout: 30s, onDone: done}}
  done: {type: final}
";
    check(
        "failures_handled",
        &[broken],
        expect![[r#"
        violated: nothing handles the failure of `pay` (category failed)
          {"type":"error.invoke.pay","data":{"category":"failed","message":"it failed"}}
          → paying (error)
    "#]],
    );
    let kept = broken.replace("onDone: done", "onDone: done, onError: done");
    check(
        "failures_handled",
        &[&kept],
        expect![[r#"
        holds: all 2 reachable states, with the default input
    "#]],
    );
    assert_eq!(not_proved(&[&kept]), NONE);
    let other = broken.replace(
        "onDone: done",
        "onDone: done, onError: {target: done, guard: \"event.data.category == 'timeout'\"}",
    );
    check(
        "failures_handled",
        &[&other],
        expect![[r#"
        violated: nothing handles the failure of `pay` (category failed)
          {"type":"error.invoke.pay","data":{"category":"failed","message":"it failed"}}
          → paying (error)
    "#]],
    );
}

const APPROVAL: &str = "
id: release
initial: asking
states:
  asking:
    invoke:
      id: approve
      src: human
      onDone: [{target: deploying, guard: event.data.approved}, {target: rejected}]
      onError: stopped
  rejected: {on: {RETRY: deploying, STOP: stopped}}
  deploying: {invoke: {id: deploy, src: deployer, onDone: stopped, onError: stopped}}
  stopped: {type: final}
";

#[test]
fn an_approval_is_not_dropped_on_retry() {
    check(
        "approval_respected",
        &[APPROVAL],
        expect![[r#"
        violated: `deploy` starts without an approval by `approve`
          {"type":"done.invoke.approve","data":{"approved":false}}
          {"type":"RETRY"}
          → deploying (active) invokes deployer
    "#]],
    );
    let kept = APPROVAL.replace("RETRY: deploying", "RETRY: asking");
    check(
        "approval_respected",
        &[&kept],
        expect![[r#"
        holds: all 6 reachable states, with the default input
    "#]],
    );
    assert_eq!(not_proved(&[&kept]), NONE);
}

#[test]
fn an_approval_that_is_not_looked_at_approves_nothing() {
    let broken = APPROVAL
        .replace("[{target: deploying, guard: event.data.approved}, {target: rejected}]", "deploying");
    check(
        "approval_respected",
        &[&broken],
        expect![[r#"
        violated: `deploy` starts without an approval by `approve`
          {"type":"done.invoke.approve","data":{"approved":false}}
          → deploying (active) invokes deployer
    "#]],
    );
}

#[test]
fn named_effects_need_the_approval_on_every_way() {
    let way = "rejected: {on: {RETRY: asking, STOP: stopped}}";
    let kept = APPROVAL.replace("rejected: {on: {RETRY: deploying, STOP: stopped}}", way);
    let kept = kept.replace("src: human", "src: human\n      guards: [deploy]");
    check(
        "approval_respected",
        &[&kept],
        expect![[r#"
        holds: all 6 reachable states, with the default input
    "#]],
    );
    let broken = kept.replace("onError: stopped\n  rejected", "onError: deploying\n  rejected");
    check(
        "approval_respected",
        &[&broken],
        expect![[r#"
        violated: `deploy` starts without an approval by `approve`
          {"type":"error.invoke.approve","data":{"category":"refused","message":"it failed"}}
          → deploying (active) invokes deployer
    "#]],
    );
    let expiring = broken.replace("src: human", "src: human\n      input: {expires: \"'1h'\"}");
    check(
        "approval_respected",
        &[&expiring],
        expect![[r#"
        violated: `deploy` starts without an approval by `approve`
          {"type":"error.invoke.approve","data":{"category":"refused","message":"it failed"}}
          → deploying (active) invokes deployer
    "#]],
    );
}

#[test]
fn a_read_only_state_writes_nothing() {
    let broken = "
id: c
initial: reading
states:
  reading:
    tools: {allowed: [Read, Grep]}
    on: {GO: .fixing, END: done}
    initial: looking
    states:
      looking: {}
      fixing: {invoke: {id: fix, src: 'tool:Write', onDone: done, onError: done}}
  done: {type: final}
";
    check(
        "read_only_phases",
        &[broken],
        expect![[r#"
        violated: `reading.fixing` is read-only and calls `Write`
          {"type":"GO"}
          → reading.fixing (active) invokes tool:Write
    "#]],
    );
    let kept = broken.replace("tool:Write", "tool:Read");
    check(
        "read_only_phases",
        &[&kept],
        expect![[r#"
        holds: all 3 reachable states, with the default input
    "#]],
    );
    assert_eq!(not_proved(&[&kept]), NONE);
}

#[test]
fn a_chart_that_invokes_itself_has_children_without_end() {
    let broken = "
id: c
initial: a
states:
  a: {on: {GO: b, END: done}}
  b: {invoke: {id: again, src: 'statechart:c', onDone: done, onError: done}}
  done: {type: final}
";
    check(
        "bounded_children",
        &[broken],
        expect![[r#"
        violated: `again` starts `statechart:c`, which invokes itself without end
          {"type":"GO"}
          → b (active) invokes statechart:c
    "#]],
    );
    let kept = "
id: c
initial: a
context: {depth: 3}
states:
  a:
    on:
      GO: {target: b, guard: 'context.depth > 0'}
      END: done
  b: {invoke: {id: again, src: 'statechart:c', input: {depth: 'context.depth - 1'}, onDone: done, onError: done}}
  done: {type: final}
";
    check(
        "bounded_children",
        &[kept],
        expect![[r#"
        holds: all 11 reachable states, with the default input
    "#]],
    );
    assert_eq!(not_proved(&[kept]), NONE);
}

#[test]
fn an_agent_in_a_loop_needs_a_budget() {
    let broken = "
id: c
initial: working
states:
  working:
    invoke: {id: work, src: 'agent:dev', onDone: [{target: done, guard: event.data.ok}, {target: checking}], onError: done}
  checking: {after: {5s: working}}
  done: {type: final}
";
    check(
        "bounded_by_budget",
        &[broken],
        expect![[r#"
        violated: an agent or a model is started again and again without a budget
          {"type":"done.invoke.work","data":{"ok":false}}
          loop: {"advance":5000}
          {"type":"done.invoke.work","data":{"ok":false}}
          → checking (active)
    "#]],
    );
    let kept = broken.replace("initial: working\n", "initial: working\nbudget: {tokens: 1000}\n");
    check(
        "bounded_by_budget",
        &[&kept],
        expect![[r#"
        holds: all 3 reachable states, with the default input
    "#]],
    );
    assert_eq!(not_proved(&[&kept]), NONE);
}
