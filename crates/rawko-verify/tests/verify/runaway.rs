//! A chart that does not come to rest when it starts has no states at all, and every property still has a verdict.

use rawko_verify::PropertyVerdict;

use crate::support::report;

#[test]
fn a_start_without_end() {
    let report = report(&["
id: c
initial: a
states:
  a:
    entry: [{type: raise, event: AGAIN}]
    on: {AGAIN: {target: a, reenter: true}, ASK: asking}
  asking: {invoke: {id: ask, src: human, onDone: paying}}
  paying: {invoke: {id: pay, src: bank, onDone: done, onError: done}}
  done: {type: final}
properties:
  ends: {leads_to: {from: \"in('a')\", to: \"ended()\"}}
"]);
    assert_eq!(report.states, 0);
    let verdict = report.property("bounded_eventless").map(|property| property.verdict);
    assert_eq!(verdict, Some(PropertyVerdict::Violated));
}
