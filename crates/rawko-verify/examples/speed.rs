//! Prints the speed of an exploration: `cargo run --release -p rawko-verify --example speed`. An example, because a
//! measurement is not a test.

#![expect(clippy::print_stdout, reason = "this is a terminal program")]

use rawko_chart::{Registry, Source};
use rawko_core::World;
use rawko_verify::{Limits, Model, verify};

/// Two counters in two states: about 20,000 reachable states.
const COUNTERS: &str = "
id: counters
initial: a
context: {x: 0, y: 0}
states:
  a:
    on:
      X: {actions: [{type: assign, context_updates: {x: 'context.x + 1'}}]}
      Y: {target: b, actions: [{type: assign, context_updates: {y: 'context.y + 1'}}]}
      END: {target: done, guard: 'context.x > 100 and context.y > 100'}
  b: {on: {X: a, Y: a}}
  done: {type: final}
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (model, findings) = Model::load(&Source::new("counters.yaml", COUNTERS), &Registry::default());
    let model = model.ok_or_else(|| format!("{findings:?}"))?;
    let limits = Limits { states_max: 1_000_000, stop: &|| false };
    let began = std::time::Instant::now();
    let report = verify(&[model], &World::default(), &limits).ok_or("nothing to explore")?;
    let per_second = report.states as f64 / began.elapsed().as_secs_f64();
    println!("{} states, {} transitions, {per_second:.0} states/s", report.states, report.transitions);
    Ok(())
}
