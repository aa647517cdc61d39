//! W9 without a disk: the loop of an orchestrator (select, execute, evaluate) with agents that answer immediately. This
//! leaves the engine's own cost per iteration: three steps, three invokes, and a growing log.

use anyhow::{Context, Result, bail};
use rawko_bench::charts;
use rawko_bench::report::{Report, timed};
use rawko_bench::stubs::{ROUNDS, answer, end, expected};
use rawko_core::{Chart, Effect, Event, Snapshot, Status, Value};

use crate::load::load;

pub(crate) fn run(report: &Report, n: u64) -> Result<()> {
    let chart = load(charts::W9)?;
    let instances = (n / ROUNDS).max(1);
    let (spent, last) = timed(|| {
        let mut last = play(&chart)?;
        for _ in 1..instances {
            last = play(&chart)?;
        }
        Ok::<Snapshot, anyhow::Error>(last)
    });
    let last = last?;
    report.check("status", last.status(), Status::Done)?;
    report.check("rounds, last of the log", end(&last.context_map(&chart)), expected())?;
    report.each("us_per_iteration", "us", 1e3, spent, instances * ROUNDS)
}

/// Runs one instance from start to end and answers all its invokes.
fn play(chart: &Chart) -> Result<Snapshot> {
    let (mut snapshot, mut step) = rawko_core::start(chart, Value::Null, 0)?;
    while snapshot.status() == Status::Active {
        // Exiting a state stops its invokes; the new invoke is the last effect.
        let Some(Effect::Invoke(invoke)) = step.effects.last() else { bail!("the chart waits for nobody") };
        let data = answer(&invoke.src, &invoke.input).context("the chart invokes somebody unknown")?;
        let event = Event::InvokeDone { invocation: invoke.invocation, data };
        step = rawko_core::step(chart, &mut snapshot, event, 0)?;
    }
    Ok(snapshot)
}
