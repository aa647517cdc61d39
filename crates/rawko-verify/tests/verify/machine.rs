//! Charts whose runs depend on what the instance machine adds to an effect: the origin of an event that a chart sends to
//! itself, the error of a request that expired, a request that cannot be made, data that does not match a declaration.

use rawko_verify::PropertyVerdict;

use crate::support::{replay, report};

fn is_broken(chart: &str) {
    let report = report(&[chart]);
    let found = report.property("p").unwrap();
    assert_eq!(found.verdict, PropertyVerdict::Violated, "{}", found.bound);
    replay(&[chart], found.trace.as_ref().unwrap());
}

fn holds(chart: &str) {
    let report = report(&[chart]);
    let found = report.property("p").unwrap();
    assert_eq!(found.verdict, PropertyVerdict::Holds, "{}: {:?}", found.bound, found.trace);
}

#[test]
fn an_event_to_itself_has_an_origin() {
    is_broken(
        r#"
id: origin
initial: a
states:
  a:
    on:
      GO: {actions: [{type: send, target: self, event: E}]}
      E: [{target: own, guard: "event.origin == 'self'"}, {target: done}]
  own: {type: final}
  done: {type: final}
properties: {p: {never: "in('own')"}}
events: {GO: {}, E: {internal: true}}
"#,
    );
}

#[test]
fn an_expired_request_is_not_to_be_repeated() {
    is_broken(
        r#"
id: expired
initial: a
states:
  a:
    invoke:
      id: q
      src: human
      input: {expires: "'1h'"}
      onDone: done
      onError: [{target: final_error, guard: "event.data.category == 'expired' and event.data.retryable == false"}, {target: done}]
  final_error: {type: final}
  done: {type: final}
properties: {p: {never: "in('final_error')"}}
"#,
    );
}

/// The machine refuses it in the same moment, so that no person ever answers.
#[test]
fn a_request_with_an_invalid_time_is_never_answered() {
    let chart = r#"
id: soon
initial: a
states:
  a:
    invoke: {id: q, src: human, input: {expires: "'soon'"}, onDone: answered, onError: refused}
  answered: {type: final}
  refused: {type: final}
properties: {p: {never: "in('answered')"}}
"#;
    holds(chart);
    is_broken(&chart.replace("never: \"in('answered')\"", "never: \"in('refused')\""));
}

#[test]
fn an_event_to_itself_is_held_to_its_declaration() {
    let chart = r#"
id: declared
initial: a
context: {value: text}
states:
  a:
    on:
      GO: {actions: [{type: send, target: self, event: E, data: {n: context.value}}]}
      E: {target: taken}
  taken: {type: final}
properties: {p: {never: "in('taken')"}}
events: {GO: {}, E: {internal: true, data: {type: object, properties: {n: {type: integer}}}}}
"#;
    holds(chart);
    is_broken(&chart.replace("value: text", "value: 1"));
}
