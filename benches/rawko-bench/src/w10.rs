//! W10 without a disk: a fan-out of many items that all run at once, each answered by a stub. This leaves the engine's own
//! cost per item: its start and a step for its answer. A tenth of the items shows whether an item costs more among many.

use anyhow::{Result, ensure};
use rawko_bench::charts;
use rawko_bench::report::{Report, timed};
use rawko_core::{Chart, Effect, Event, Snapshot, Status, Value};

use crate::load::load;

pub(crate) fn run(report: &Report, n: u64) -> Result<()> {
    let chart = load(charts::W10)?;
    measure(report, &chart, "us_per_item_tenth", (n / 10).max(1))?;
    measure(report, &chart, "us_per_item", n)
}

fn measure(report: &Report, chart: &Chart, metric: &str, n: u64) -> Result<()> {
    let (spent, last) = timed(|| play(chart, n));
    let last = last?;
    report.check("status", last.status(), Status::Done)?;
    let context = last.context_map(chart);
    let results = context.get("results").as_list().unwrap_or_default();
    let is_ordered = (0..).zip(results).all(|(n, result)| result.as_i64() == Some(n));
    ensure!(is_ordered && results.len() as u64 == n, "results are lost or out of order");
    report.each(metric, "us", 1e3, spent, n)
}

/// Starts an instance and answers all its items, the last one first.
fn play(chart: &Chart, n: u64) -> Result<Snapshot> {
    let input = Value::map([("items", Value::Int(i64::try_from(n)?))]);
    let (mut snapshot, step) = rawko_core::start(chart, input, 0)?;
    for effect in step.effects.iter().rev() {
        let Effect::Invoke(invoke) = effect else { continue };
        let event = Event::InvokeDone { invocation: invoke.invocation, data: invoke.input.get("n").clone() };
        rawko_core::step(chart, &mut snapshot, event, 0)?;
    }
    Ok(snapshot)
}
