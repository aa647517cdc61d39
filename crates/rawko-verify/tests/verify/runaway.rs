//! A chart that does not come to rest when it starts has no states at all, and every property still has a verdict.

use rawko_core::World;
use rawko_verify::{ExplorationLimits, PropertyVerdict, Storage, verify};

use crate::support::{model, replay, report};

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

/// Eight events that never come to rest, each with guards on unknown data that are decided both ways.
#[test]
fn steps_without_end_are_few_and_the_caller_can_stop() {
    let mut text = "id: c\ninitial: a\nstates:\n  a:\n    on:\n      END: done\n".to_owned();
    for event in 0..8 {
        text.push_str(&format!(
            "      E{event}: [{{target: b, guard: 'event.data.x * event.data.y > {event}'}}, {{target: b}}]\n"
        ));
    }
    text.push_str(
        "  b: {always: [{target: c, guard: 'context.n * context.n == context.m'}, {target: c}]}\n  \
         c: {always: [{target: b, guard: 'context.m * context.n == context.m'}, {target: b}]}\n  \
         done: {type: final}\ncontext: {n: 2, m: 3}\n",
    );
    let found = report(&[&text]);
    let verdict = found.property("bounded_eventless").map(|property| property.verdict);
    assert_eq!(verdict, Some(PropertyVerdict::Violated));
    // The caller is asked although there are few states.
    let asked = std::cell::Cell::new(0);
    let stop = |_| {
        asked.set(asked.get() + 1);
        false
    };
    let limits = ExplorationLimits { states_max: 20_000, stop: &stop, storage: Storage::Exact };
    let found = verify(&[model(&text)], &World::default(), &limits).unwrap();
    assert!(found.states < 256 && asked.get() > 2, "{} states, asked {} times", found.states, asked.get());
}

/// Each round starts a list again. The simulation gives up as soon as for other loops: it took gigabytes before.
#[test]
fn a_loop_over_lists_ends_in_the_simulation() {
    let text = "
id: m
initial: a
states:
  a: {on: {A: b}}
  b:
    on: {'*': {target: b, reenter: true, actions: [{type: send, target: self, event: B}]}}
    invoke: {id: i, src: svc, each: '[1, 2]', onDone: a, onError: a}
";
    let trace = report(&[text]).property("bounded_eventless").unwrap().trace.clone().unwrap();
    let lines = replay(&[text], &trace);
    assert!(lines.last().unwrap().error.is_some());
}
