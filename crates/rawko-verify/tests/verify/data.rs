//! Unknown data: counters, guards that compute, sums. A proof covers all data.

use expect_test::{Expect, expect};

use crate::support::shown;

fn check(name: &str, texts: &[&str], expected: Expect) {
    expected.assert_eq(&shown(texts, name));
}

#[test]
fn counters_that_only_grow_are_bounded_by_what_they_are_compared_with() {
    let chart = "
id: c
initial: a
context: {n: 0, log: 0}
states:
  a:
    on:
      MORE: {actions: [{type: assign, context_updates: {n: 'context.n + 1', log: 'context.log + 1'}}]}
      END: {target: done, guard: 'context.n >= 3'}
  done: {type: final}
";
    check(
        "no_trap",
        &[chart],
        expect![[r#"
        holds: all 7 reachable states, with the default input
    "#]],
    );
}

/// Both outcomes of such a guard are explored: what holds either way is proved, what depends on it is open.
#[test]
fn a_guard_that_computes_with_unknown_data_is_decided_both_ways() {
    let chart = "
id: c
initial: a
states:
  a: {on: {PAY: [{target: done, guard: 'event.data.price * event.data.count > 100'}, {target: b}]}}
  b: {on: {BACK: a}}
  done: {type: final}
";
    check(
        "no_trap",
        &[chart],
        expect![[r#"
            holds: all 3 reachable states, with the default input, if each guard on unknown data can be true and false
        "#]],
    );
    let dead = chart.replace("b: {on: {BACK: a}}", "b: {}");
    check(
        "no_trap",
        &[&dead],
        expect![[r#"
            unknown: all 3 reachable states, with the default input; depends on data in `event.data.price * event.data.count > 100`
        "#]],
    );
    let far = chart.replace("target: done, guard", "target: c, guard").replace("  done:", "  c: {}\n  done:");
    check(
        "no_trap",
        &[&far],
        expect![[r#"
            violated: no final state can be reached from here
              → a (active)
        "#]],
    );
}

#[test]
fn sums_of_unknown_data_are_not_counted() {
    let chart = "
id: c
initial: a
context: {total: 0}
states:
  a:
    on:
      ADD: {actions: [{type: assign, context_updates: {total: 'context.total + event.data.amount'}}]}
      END: {target: done, guard: 'context.total > 1000000'}
  done: {type: final}
";
    check(
        "no_trap",
        &[chart],
        expect![[r#"
            holds: all data and times, in 3 general states, with the default input, if each guard on unknown data can be true and false
        "#]],
    );
}
