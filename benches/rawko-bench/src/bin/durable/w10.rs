//! W10 on disk: a fan-out of many items in the host, each answered by a stub at once. Every answer is a step of its own,
//! and is committed before the fan-out ends.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, ensure};
use rawko_bench::charts;
use rawko_bench::report::{Report, Stopwatch};
use rawko_core::{Status, Value};
use rawko_host::{Edition, Gate, Host, Services, StartOptions, function};
use rawko_store::{SqliteOptions, SqliteStore};

const LABEL: &str = "w10d";

pub(crate) async fn work(path: &Path, n: u64) -> Result<()> {
    let report = Report::new("rawko", LABEL);
    let stub = function(|call| Ok(call.input.get("n").clone()));
    let host = Host::builder()
        .store(Arc::new(SqliteStore::open(path, SqliteOptions::default())?))
        .chart(Edition::read("w10.json", charts::W10)?)
        .services(Services::new().add("stub", stub))
        .gate(Gate::open())
        .start()
        .await?;
    play(&host, "warm", 10).await?;
    let (watch, before) = (Stopwatch::start(), host.commits());
    play(&host, "fan", n).await?;
    let spent = watch.spent();
    report.each("us_per_item", "us", 1e3, spent, n)?;
    let (commits, fsyncs) = (host.commits().0 - before.0, host.commits().1 - before.1);
    report.amount("commits_per_item", commits as f64 / n as f64, "", n)?;
    report.amount("fsyncs_per_item", fsyncs as f64 / n as f64, "", n)
}

async fn play(host: &Host, id: &str, items: u64) -> Result<()> {
    let input = Value::map([("items", Value::Int(i64::try_from(items)?))]);
    host.start(StartOptions { chart: "w10".into(), input, id: Some(id.to_owned()) }).await?;
    let mut changes = host.changes();
    while host.reader().find(id)?.head.status == Status::Active {
        changes.changed().await?;
        // Looking at each change would be a part of the measurement.
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Checks the results in the store of the aborted process.
pub(crate) fn check(path: &Path, n: u64) -> Result<()> {
    let reader = crate::reader(path)?;
    let row = reader.find("fan")?;
    Report::new("rawko", LABEL).check("status", row.head.status, Status::Done)?;
    let restored = reader.snapshot(&row, None)?;
    let context = restored.snapshot.context_map(&restored.chart);
    let results = context.get("results").as_list().unwrap_or_default();
    let is_ordered = (0..).zip(results).all(|(n, result)| result.as_i64() == Some(n));
    ensure!(is_ordered && results.len() as u64 == n, "results are lost or out of order");
    Ok(())
}
