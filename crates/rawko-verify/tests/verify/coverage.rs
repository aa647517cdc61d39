//! Runs for `rawko test --generate`: they take every transition that can be taken.

use std::collections::BTreeSet;
use std::sync::Arc;

use rawko_core::World;
use rawko_sim::{Simulation, Stimulus, Stubs};
use rawko_verify::{ExplorationLimits, Storage, cover};

use crate::support::model;

/// The context shows which of two transitions with the same event and target was taken.
const GUARDED: &str = "
id: g
initial: a
context: {n: 0}
states:
  a:
    on:
      E:
        - {target: b, guard: 'event.data.k > 5', actions: [{type: assign, context_updates: {n: 1}}]}
        - {target: b, actions: [{type: assign, context_updates: {n: 2}}]}
  b:
    on:
      T:
        - {guard: \"event.data.k == 'x'\", actions: [{type: assign, context_updates: {n: 3}}]}
        - {actions: [{type: assign, context_updates: {n: 4}}]}
      END: c
  c: {type: final}
";

#[test]
fn transitions_that_differ_in_their_guards_only_are_all_taken() {
    let models = [model(GUARDED)];
    let limits = ExplorationLimits { states_max: 1_000, stop: &|_| false, storage: Storage::Exact };
    let cover = cover(&models, &World::default(), &limits).unwrap();
    assert!(cover.is_complete);
    let mut seen = BTreeSet::new();
    for run in &cover.runs {
        let chart = Arc::clone(&models[0].chart);
        let stubs = Stubs::from_value(&run.services).unwrap();
        let mut simulation = Simulation::new(chart, Vec::new(), stubs, World::default(), run.input.clone());
        seen.insert(simulation.start().context.to_string());
        for event in &run.events {
            let line = simulation.apply(&Stimulus::from_value(event).unwrap());
            seen.insert(line.context.to_string());
        }
    }
    let expected: BTreeSet<String> = (0..5).map(|n| format!("{{\"n\":{n}}}")).collect();
    assert_eq!(seen, expected);
}
