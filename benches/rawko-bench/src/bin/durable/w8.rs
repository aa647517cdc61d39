//! W8: every INC is acknowledged once it is on disk; one instance in sequence, then 64 concurrently.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use rawko_bench::charts;
use rawko_bench::report::Report;
use rawko_core::{NamedEvent, Value};
use rawko_host::{Host, StartOptions};

const INSTANCES: u64 = 64;
/// Each sequential event waits for the disk, so a tenth of the events is enough.
const ALONE: u64 = 10;

pub(crate) async fn work(path: &Path, n: u64) -> Result<()> {
    let report = Report::new("rawko", "w8");
    let host = crate::host(path, "w2.json", charts::W2).await?;
    for id in std::iter::once("alone".to_owned()).chain((0..INSTANCES).map(|number| format!("i{number}"))) {
        let input = Value::map([("limit", Value::Int(1_000_000_000))]);
        host.start(StartOptions { chart: "w2".into(), input, id: Some(id) }).await?;
    }
    let alone = n / ALONE;
    let (from, before) = (Instant::now(), host.commits());
    increment(&host, "alone", alone).await?;
    let seconds = from.elapsed().as_secs_f64();
    report.amount("events_per_s_1", alone as f64 / seconds, "1/s", alone)?;
    ensure!(host.commits().1 - before.1 >= alone, "an event was acknowledged without a commit of its own");

    let each = n / INSTANCES;
    let (from, before) = (Instant::now(), host.commits());
    let tasks: Vec<_> = (0..INSTANCES)
        .map(|number| {
            let host = host.clone();
            tokio::spawn(async move { increment(&host, &format!("i{number}"), each).await })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    let seconds = from.elapsed().as_secs_f64();
    let events = each * INSTANCES;
    report.amount("events_per_s_64", events as f64 / seconds, "1/s", events)?;
    let fsyncs = host.commits().1 - before.1;
    report.amount("fsyncs_per_event_64", fsyncs as f64 / events as f64, "", events)
}

async fn increment(host: &Host, id: &str, times: u64) -> Result<()> {
    let name: Arc<str> = "INC".into();
    for _ in 0..times {
        host.send(id, NamedEvent::new(Arc::clone(&name), Value::Null), None).await?;
    }
    Ok(())
}

/// Checks the counts in the store of the aborted process.
pub(crate) fn check(path: &Path, n: u64) -> Result<()> {
    let reader = crate::reader(path)?;
    let report = Report::new("rawko", "w8");
    let count = |id: &str| -> Result<i64> {
        let restored = reader.snapshot(&reader.find(id)?, None)?;
        Ok(restored.snapshot.context_map(&restored.chart).get("count").as_i64().unwrap_or(-1))
    };
    report.check("the count of the one alone", count("alone")?, (n / ALONE) as i64)?;
    for number in 0..INSTANCES {
        report.check("a count of the 64", count(&format!("i{number}"))?, (n / INSTANCES) as i64)?;
    }
    Ok(())
}
