//! Charts that were once proved although a run breaks the property: each has data or an event that representative values
//! left out. Such a proof is the worst that `rawko verify` can do.

use rawko_verify::PropertyVerdict;

use crate::support::{replay, report};

/// The property is broken, and a trace shows it.
fn is_broken(charts: &[&str], property: &str) {
    let report = report(charts);
    let found = report.property(property).unwrap();
    assert_eq!(found.verdict, PropertyVerdict::Violated, "{}", found.bound);
    replay(charts, found.trace.as_ref().unwrap());
}

/// The property is broken by data that is not tried: it may be open, but not proved.
fn is_not_proved(charts: &[&str], property: &str) {
    let report = report(charts);
    let found = report.property(property).unwrap();
    assert_ne!(found.verdict, PropertyVerdict::Holds, "{}", found.bound);
}

const LIST: &str = r#"
id: each1
initial: a
context: {files: []}
states:
  a: {on: {SET: {target: b, actions: [{type: assign, context_updates: {files: event.data.files}}]}}}
  b: {invoke: {id: all, src: svc, each: context.files, onDone: done, onError: failed}}
  failed: {type: final}
  done: {type: final}
properties: {p: {never: "in('failed')"}}
"#;

const FRACTION: &str = r#"
id: float1
initial: a
states:
  a: {on: {SET: {target: b, guard: 'event.data.x > 0.5 and event.data.x < 0.7'}, END: done}}
  b: {on: {END: done}}
  done: {type: final}
properties: {p: {never: "in('b')"}}
"#;

const SEND_IDS: &str = r#"
id: sendid
initial: a
states:
  a:
    on:
      ONE: {target: b, actions: [{type: send, event: LATE, delay: 10s, id: one}]}
      TWO: {target: b, actions: [{type: send, event: LATE, delay: 10s, id: two}]}
  b:
    on: {GO: {target: c, actions: [{type: cancel, id: one}]}}
  c: {on: {LATE: {target: d}, END: done}, after: {20s: done}}
  d: {on: {END: done}}
  done: {type: final}
properties: {p: {never: "in('d')"}}
events: {ONE: {}, TWO: {}, GO: {}, END: {}, LATE: {internal: true}}
"#;

const FORM: &str = r#"
id: form1
initial: a
states:
  a:
    invoke:
      id: q
      src: human
      input: {title: "'x'", form: {type: "'object'", properties: {amount: {type: "'integer'"}}}}
      onDone:
        - {target: big, guard: 'event.data.data.amount > 100'}
        - {target: small, guard: 'event.data.data.amount <= 100'}
  big: {type: final}
  small: {type: final}
properties: {p: {leads_to: {from: "event('done.invoke.q')", to: "ended()"}}}
"#;

const FAILURES: &str = r#"
id: msg
initial: a
states:
  a: {invoke: {id: q, src: svc, onDone: done, onError: [{target: full, guard: "event.data.message == 'disk full'"}, {target: conflict, guard: "event.data.category == 'conflict'"}, {target: done}]}}
  full: {type: final}
  conflict: {type: final}
  done: {type: final}
properties: {p: {never: "in('full')"}, q: {never: "in('conflict')"}}
"#;

const COPIES: &str = r#"
id: copy
initial: a
context: {x: null, y: null, z: null}
states:
  a: {on: {SET: {target: b, actions: [{type: assign, context_updates: {x: event.data}}]}}}
  b: {on: {NEXT: {target: c, actions: [{type: assign, context_updates: {y: context.x, z: '{"a": context.x.m}'}}]}}}
  c: {on: {GO: [{target: d, guard: 'context.y.n == 3'}, {target: e, guard: 'context.z.a == 4'}, {target: done}]}}
  d: {type: final}
  e: {type: final}
  done: {type: final}
properties: {p: {never: "in('d')"}, q: {never: "in('e')"}}
"#;

const NAMES: &str = r#"
id: wild
initial: a
states:
  a: {on: {foo: done, 'foo.*': b, '*': [{target: c, guard: "event.type == 'special'"}]}}
  b: {type: final}
  c: {type: final}
  done: {type: final}
properties: {p: {never: "in('b')"}, q: {never: "in('c')"}}
"#;

const PARENT: &str = r#"
id: par
initial: a
states:
  a: {invoke: {id: c, src: 'statechart:kid', onDone: [{target: yes1, guard: event.data.ok}, {target: no1}], onError: no1}}
  yes1: {type: final}
  no1: {type: final}
properties: {p: {never: "in('yes1')"}}
"#;

const CONTEXT_SCHEMA: &str = r#"
id: s1
initial: a
context: {k: x}
context_schema: {type: object, properties: {k: {type: string, enum: [x, y, z]}}}
states:
  a: {on: {SET: {target: b, actions: [{type: assign, context_updates: {k: event.data.k}}]}}}
  b: {on: {GO: [{target: c, guard: "context.k != 'x'"}, {target: done}]}}
  c: {type: final}
  done: {type: final}
properties: {p: {never: "in('c')"}}
"#;

const WHOLE_NUMBER: &str = r#"
id: s2
initial: a
events: {SET: {data: {type: object, required: [n], properties: {n: {type: integer}}}}}
states:
  a: {on: {SET: [{target: c, guard: "event.data.n > 2.5"}, {target: done}]}}
  c: {type: final}
  done: {type: final}
properties: {p: {never: "in('c')"}}
"#;

const TEXT_ORDER: &str = r#"
id: s3
initial: a
states:
  a: {on: {SET: [{target: c, guard: "event.data.s > 'm'"}, {target: done}]}}
  c: {type: final}
  done: {type: final}
properties: {p: {never: "in('c')"}}
"#;

const WHOLE_EVENT: &str = r#"
id: s4
initial: a
context: {last: null, list: []}
states:
  a:
    on:
      SET: {actions: [{type: assign, context_updates: {last: event}}]}
      ADD: {actions: [{type: assign, context_updates: {list: "context.list ~ [event.data.x]"}}]}
      GO: [{target: c, guard: "context.last.data.x == 7"}, {target: d, guard: "length(context.list) == 3"}, {target: done}]
  c: {type: final}
  d: {type: final}
  done: {type: final}
properties: {p: {never: "in('c')"}}
"#;

const WALKED_LIST: &str = r#"
id: s5
initial: a
context: {found: false}
states:
  a: {on: {SET: {target: b, actions: [{type: foreach, array: event.data.items, item: it, actions: [{type: assign, context_updates: {found: "it.ok"}}]}]}}}
  b: {on: {GO: [{target: c, guard: context.found}, {target: done}]}}
  c: {type: final}
  done: {type: final}
properties: {p: {never: "in('c')"}}
"#;

const PASSED_ON: &str = r#"
id: s7
initial: a
states:
  a: {on: {SET: {target: b, actions: [{type: raise, event: R, data: {o: event.data.o}}]}}}
  b: {on: {R: [{target: c, guard: "event.data.o.k == 'v'"}, {target: done}]}}
  c: {type: final}
  done: {type: final}
properties: {p: {never: "in('c')"}}
"#;

const WRONG_TYPE: &str = r#"
id: s8
initial: a
states:
  a: {invoke: {id: q, src: svc, onDone: [{target: big, guard: 'event.data.n > 5'}, {target: small, guard: 'event.data.n <= 5'}], onError: failed}, on: {'error.execution': odd}}
  big: {type: final}
  small: {type: final}
  failed: {type: final}
  odd: {type: final}
properties: {p: {never: "in('odd')"}}
"#;

const CHILD: &str = r#"
id: kid
initial: a
states:
  a: {invoke: {id: k, src: svc, onDone: done, onError: done}}
  done: {type: final, output: {ok: event.data.ok}}
"#;

#[test]
fn a_list_from_outside_may_have_items() {
    is_broken(&[LIST], "p");
}

#[test]
fn a_number_lies_between_two_constants() {
    is_broken(&[FRACTION], "p");
}

#[test]
fn two_delayed_events_differ_in_their_id_only() {
    is_broken(&[SEND_IDS], "p");
}

#[test]
fn a_field_that_the_form_does_not_require_may_be_missing() {
    is_broken(&[FORM], "p");
}

#[test]
fn a_failure_may_have_any_message() {
    is_broken(&[FAILURES], "p");
}

#[test]
fn a_service_has_failures_of_its_own() {
    is_broken(&[FAILURES], "q");
}

#[test]
fn a_field_is_read_below_a_copy() {
    is_broken(&[COPIES], "p");
}

#[test]
fn a_field_is_read_below_a_map_that_was_built() {
    is_not_proved(&[COPIES], "q");
}

#[test]
fn a_name_below_a_handled_one() {
    is_broken(&[NAMES], "p");
}

#[test]
fn the_type_of_an_event_is_compared() {
    is_broken(&[NAMES], "q");
}

#[test]
fn a_parent_compares_what_a_child_passes_on() {
    is_not_proved(&[PARENT, CHILD], "p");
}

#[test]
fn the_schema_of_the_context_allows_other_values() {
    is_broken(&[CONTEXT_SCHEMA], "p");
}

#[test]
fn a_whole_number_is_compared_with_a_fraction() {
    is_broken(&[WHOLE_NUMBER], "p");
}

#[test]
fn texts_have_an_order() {
    is_broken(&[TEXT_ORDER], "p");
}

#[test]
fn the_whole_event_is_kept() {
    is_not_proved(&[WHOLE_EVENT], "p");
}

#[test]
fn a_list_from_outside_is_walked() {
    is_not_proved(&[WALKED_LIST], "p");
}

#[test]
fn a_field_is_read_below_data_that_was_passed_on() {
    is_not_proved(&[PASSED_ON], "p");
}

#[test]
fn data_of_a_wrong_type_is_an_error_that_the_chart_handles() {
    is_broken(&[WRONG_TYPE], "p");
}
