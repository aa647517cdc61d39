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
            holds: all 2 reachable states, with the default input, if each guard on unknown data can be true and false
        "#]],
    );
}

/// A chart whose data no finite set of values covers is proved with unknown data: everything that real data can do, and
/// more.
#[test]
fn unknown_data_proves_what_representative_data_cannot() {
    let chart = "
id: c
initial: a
context: {list: [], seen: null}
states:
  a:
    on:
      ADD: {actions: [{type: assign, context_updates: {list: 'append(context.list, event.data.item)'}}]}
      GO: {target: b, guard: 'length(context.list) > event.data.least'}
    after: {1d: done}
  b:
    invoke: {id: job, src: {expr: \"'tool:' ~ context.list[0]\"}, onDone: {target: done, actions: [{type: assign, context_updates: {seen: event.data.x}}]}, onError: a}
    after: {1h: done}
  done: {type: final}
properties:
  started: {before: {first: \"in('b')\", then: \"invoked('job')\"}}
  seen: {never: \"in('a') and context.seen != null\"}
";
    let rows = [("failures_handled", "holds"), ("no_trap", "holds"), ("started", "holds"), ("seen", "holds")];
    let report = crate::support::report(&[chart]);
    for (name, verdict) in rows {
        let property = report.property(name).unwrap();
        assert_eq!(property.verdict.as_str(), verdict, "{name}: {}", property.bound);
    }
}

/// A tool with a computed name may be any.
#[test]
fn nothing_is_proved_of_a_tool_with_an_unknown_name() {
    let chart = "
id: c
initial: a
states:
  a: {on: {GO: b}}
  b: {invoke: {id: job, src: {expr: \"'tool:' ~ event.data.name\"}, onDone: done, onError: done}}
  done: {type: final}
properties:
  writes: {never: \"called('Write')\"}
  agents: {never: \"invoked('agent:dev')\"}
";
    let report = crate::support::report(&[chart]);
    assert_eq!(report.property("writes").unwrap().verdict.as_str(), "unknown");
    assert_eq!(report.property("agents").unwrap().verdict.as_str(), "holds");
    assert_eq!(report.property("no_trap").unwrap().verdict.as_str(), "holds");
}

/// The schema of a form leaves out answers that no person can give.
#[test]
fn a_form_gives_the_answers() {
    let chart = "
id: c
initial: ask
states:
  ask:
    invoke:
      id: colour
      src: human
      input: {form: {literal: {properties: {pick: {enum: [red, blue]}}, required: [pick]}}}
      onDone:
        - {target: done, guard: \"event.data.data.pick == 'red'\"}
        - {target: done, guard: \"event.data.data.pick == 'blue'\"}
        - {target: hole, guard: event.data.approved}
        - done
      onError: done
  hole: {}
  done: {type: final}
";
    check(
        "no_trap",
        &[chart],
        expect![[r#"
        holds: all 2 reachable states, with the default input
    "#]],
    );
    let open = chart.replace("enum: [red, blue]", "enum: [red, blue, green]");
    check(
        "no_trap",
        &[&open],
        expect![[r#"
        violated: this state is not final and has no way out
          {"type":"done.invoke.colour","data":{"approved":true,"data":{"pick":"green"}}}
          → hole (active)
    "#]],
    );
}

/// The items of an `each` end in any order, and each may fail.
#[test]
fn items_end_in_any_order() {
    let chart = "
id: c
initial: a
context: {files: [1, 2, 3], late: false}
states:
  a:
    invoke:
      id: read
      src: reader
      each: context.files
      max_concurrent: 2
      onItemDone: {actions: [{type: assign, context_updates: {late: 'event.index < 2 and context.late'}}]}
      onDone: done
      onError: failed
  failed: {type: final, tags: [failed]}
  done: {type: final}
properties:
  third: {before: {first: \"event('done.invoke.read')\", then: \"ended('succeeded')\"}}
  never_third: {never: \"invoked('read[2]')\"}
  ends: {leads_to: {from: \"in('a')\", to: \"ended()\"}}
";
    check(
        "never_third",
        &[chart],
        expect![[r#"
        violated: `invoked('read[2]')` holds
          {"type":"done.invoke.read[0]"}
          → a (active) invokes reader
    "#]],
    );
    check(
        "ends",
        &[chart],
        expect![[r#"
        holds: all 8 reachable states, with the default input
    "#]],
    );
    check(
        "third",
        &[chart],
        expect![[r#"
            holds: all 8 reachable states, with the default input
        "#]],
    );
    check(
        "no_trap",
        &[chart],
        expect![[r#"
        holds: all 8 reachable states, with the default input
    "#]],
    );
}

/// With three timers that events start at any time, an order that needs an event between two timers is found.
#[test]
fn every_order_of_timers_and_events() {
    let chart = "
id: c
type: parallel
states:
  x: {initial: a, states: {a: {on: {X: b}}, b: {after: {10s: c}}, c: {}}}
  y: {initial: a, states: {a: {on: {Y: b}}, b: {after: {10s: c}}, c: {}}}
  z: {initial: a, states: {a: {on: {Z: b}}, b: {after: {15s: c}}, c: {}}}
properties:
  between: {never: \"in('x.c') and in('y.b') and in('z.c')\"}
  no_overtaking: {never: \"in('z.c') and in('x.b') and in('y.c')\"}
";
    check(
        "between",
        &[chart],
        expect![[r#"
        violated: `in('x.c') and in('y.b') and in('z.c')` holds
          {"type":"X"}
          {"advance":10000}
          {"type":"Z"}
          {"advance":15000}
          {"type":"Y"}
          → x.c, y.b, z.c (active)
    "#]],
    );
    check(
        "no_overtaking",
        &[chart],
        expect![[r#"
        violated: `in('z.c') and in('x.b') and in('y.c')` holds
          {"type":"Y"}
          {"advance":10000}
          {"type":"Z"}
          {"advance":15000}
          {"type":"X"}
          → x.b, y.c, z.c (active)
    "#]],
    );
}
