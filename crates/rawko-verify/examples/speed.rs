//! Prints the speed and the memory of an exploration: `cargo run --release -p rawko-verify --example speed`. An example,
//! because a measurement is not a test.

#![expect(clippy::print_stdout, reason = "this is a terminal program")]

use std::fmt::Write as _;

use rawko_chart::{Registry, SourceFile};
use rawko_core::World;
use rawko_verify::{ExplorationLimits, Model, Storage, verify};

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

/// Four regions, each three deep as in W3, with an event of their own: the fourth power of `width` states.
fn regions(width: usize) -> String {
    let mut text = "id: regions\ninitial: work\nstates:\n  end: {type: final}\n".to_owned();
    text.push_str("  work:\n    type: parallel\n    on: {END: end}\n    states:\n");
    for region in ["a", "b", "c", "d"] {
        let event = region.to_uppercase();
        let _ = writeln!(text, "      {region}:\n        initial: {region}1\n        states:");
        let _ = writeln!(text, "          {region}1:\n            initial: {region}2\n            states:");
        let _ =
            writeln!(text, "              {region}2:\n                initial: s0\n                states:");
        for state in 0..width {
            let next = (state + 1) % width;
            let _ = writeln!(text, "                  s{state}: {{on: {{{event}: s{next}}}}}");
        }
    }
    text
}

/// W3 with regions of different lengths: one event moves all four, through the product of the lengths.
fn stepping(widths: [usize; 4]) -> String {
    let mut text =
        "id: stepping\ninitial: work\nstates:\n  work:\n    type: parallel\n    states:\n".to_owned();
    for (region, width) in ["a", "b", "c", "d"].into_iter().zip(widths) {
        let _ = writeln!(text, "      {region}:\n        initial: {region}1\n        states:");
        let _ = writeln!(text, "          {region}1:\n            initial: {region}2\n            states:");
        let _ =
            writeln!(text, "              {region}2:\n                initial: s0\n                states:");
        for state in 0..width {
            let next = (state + 1) % width;
            let _ = writeln!(text, "                  s{state}: {{on: {{STEP: s{next}}}}}");
        }
    }
    text
}

/// Sizes of a series, as the lengths of four regions without a common divisor.
const SERIES: [(&str, [usize; 4]); 3] =
    [("77k", [13, 16, 17, 21]), ("260k", [19, 22, 23, 27]), ("1M", [29, 31, 32, 35])];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    shipped()?;
    let is_compact = std::env::args().nth(2).map(|storage| storage == "compact");
    let all = [(Storage::Exact, false), (Storage::Compact, true)];
    for (storage, _) in all.into_iter().filter(|(_, compact)| is_compact.is_none_or(|only| only == *compact))
    {
        println!("{storage:?}");
        measure("counters", COUNTERS, storage)?;
        // Three sizes of one chart: the time of a state has to stay the same.
        for (size, widths) in SERIES {
            measure(&format!("W3 with one event, {size}"), &stepping(widths), storage)?;
        }
        for width in [10, 18, 32] {
            measure(&format!("four regions of {width}"), &regions(width), storage)?;
        }
    }
    Ok(())
}

/// Charts that rawko ships, each with the input that its proofs are for.
const SHIPPED: [(&str, bool); 4] =
    [("agent", true), ("orchestrator", true), ("plan_build", true), ("channel", false)];

fn shipped() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).is_some_and(|wanted| wanted != "charts") {
        return Ok(());
    }
    for (name, any_input) in SHIPPED {
        let path = format!("{}/../../charts/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
        let source = SourceFile::new(format!("{name}.yaml"), std::fs::read_to_string(path)?);
        let mut model = Model::load(&source, &Registry::default()).0.ok_or("a chart is invalid")?;
        model.any_input = any_input;
        let limits = ExplorationLimits { states_max: 200_000, stop: &|_| false, storage: Storage::Exact };
        let began = std::time::Instant::now();
        let report = verify(&[model], &World::default(), &limits).ok_or("nothing to explore")?;
        let open: Vec<&str> = report
            .properties
            .iter()
            .filter(|property| property.verdict.as_str() != "holds")
            .map(|property| &*property.name)
            .collect();
        println!("{name}: {:.2} s, not proved: {open:?}", began.elapsed().as_secs_f64());
    }
    Ok(())
}

fn measure(name: &str, text: &str, storage: Storage) -> Result<(), Box<dyn std::error::Error>> {
    // One workload by the beginning of its name, to measure its CPU time from outside.
    if std::env::args().nth(1).is_some_and(|wanted| !name.starts_with(&wanted)) {
        return Ok(());
    }
    let (model, findings) = Model::load(&SourceFile::new("speed.yaml", text), &Registry::default());
    let model = model.ok_or_else(|| format!("{findings:?}"))?;
    let limits = ExplorationLimits { states_max: 5_000_000, stop: &|_| false, storage };
    let began = std::time::Instant::now();
    let report = verify(&[model], &World::default(), &limits).ok_or("nothing to explore")?;
    let seconds = began.elapsed().as_secs_f64();
    let (states, transitions) = (report.states, report.transitions);
    let per_second = states as f64 / seconds;
    let bytes = report.bytes as f64 / states as f64;
    let steps = transitions as f64 / seconds;
    let nanos = 1e9 / per_second;
    println!(
        "{name}: {states} states, {transitions} transitions, {seconds:.2} s, {per_second:.0} states/s ({nanos:.0} ns a state), {steps:.0} transitions/s, {bytes:.1} bytes a state",
    );
    Ok(())
}
