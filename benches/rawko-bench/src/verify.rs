//! VERIFY: the states a second that `rawko verify` explores on W3 with regions of different lengths, where one event moves
//! all four: the states are the product of the lengths, so their number is known beforehand.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use rawko_bench::report::{Report, timed};
use rawko_chart::{Registry, SourceFile};
use rawko_core::World;
use rawko_verify::{ExplorationLimits, Model, Storage, verify};

/// `n` is the length of the third region; 32 gives about a million states. The lengths have no common divisor if `n` is a
/// power of two that is above 8.
pub(crate) fn run(report: &Report, n: u64) -> Result<()> {
    let widths = [n - 3, n - 1, n, n + 3];
    let source = SourceFile::new("stepping.yaml", chart(widths));
    let (model, findings) = Model::load(&source, &Registry::default());
    let model = model.with_context(|| format!("{findings:?}"))?;
    let limits = ExplorationLimits { states_max: 5_000_000, stop: &|_| false, storage: Storage::Exact };
    let (spent, explored) = timed(|| verify(&[model], &World::default(), &limits));
    let explored = explored.context("nothing to explore")?;
    let states = widths.iter().product::<u64>();
    report.check("the number of states", u64::try_from(explored.states)?, states)?;
    report.amount("states_per_s", states as f64 / spent.cpu.as_secs_f64(), "1/s", states)?;
    report.amount("bytes_per_state", explored.bytes as f64 / states as f64, "B", states)
}

fn chart(widths: [u64; 4]) -> String {
    let mut text =
        "id: stepping\ninitial: work\nstates:\n  work:\n    type: parallel\n    states:\n".to_owned();
    for (region, width) in ["a", "b", "c", "d"].into_iter().zip(widths) {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "      {region}:\n        initial: {region}1\n        states:\n          {region}1:\n            initial: \
             {region}2\n            states:\n              {region}2:\n                initial: s0\n                \
             states:"
        );
        for state in 0..width {
            let next = (state + 1) % width;
            let _ = writeln!(text, "                  s{state}: {{on: {{STEP: s{next}}}}}");
        }
    }
    text
}
