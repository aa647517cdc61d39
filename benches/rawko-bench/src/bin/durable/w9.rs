//! W9 on disk: the same loop in the host, with every transition committed before the next agent is invoked.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use rawko_bench::charts;
use rawko_bench::report::{Report, Stopwatch};
use rawko_bench::stubs::{ROUNDS, answer, end, expected};
use rawko_core::{Status, Value};
use rawko_host::{Category, Edition, Gate, Host, ServiceError, Services, StartOptions, function};
use rawko_store::{SqliteOptions, SqliteStore};
use tokio::sync::mpsc::{self, UnboundedReceiver};

const LABEL: &str = "w9d";

pub(crate) async fn work(path: &Path, n: u64) -> Result<()> {
    let report = Report::new("rawko", LABEL);
    let (judged, mut judgements) = mpsc::unbounded_channel();
    let agents = function(move |call| {
        let answer = answer(&call.name, &call.input);
        if answer.as_ref().is_some_and(|answer| answer.get("done").as_bool() == Some(true)) {
            // The receiver is only closed when the program ends.
            let _ = judged.send(());
        }
        answer.ok_or_else(|| ServiceError::new(Category::Unknown, "no such stub"))
    });
    let store = Arc::new(SqliteStore::open(path, SqliteOptions::default())?);
    let host = Host::builder()
        .store(store)
        .chart(Edition::read("w9.json", charts::W9)?)
        .services(Services::new().add_scheme("agent", agents))
        .gate(Gate::open())
        .start()
        .await?;
    play(&host, "warm", &mut judgements).await?;
    let instances = instances(n);
    let (watch, before) = (Stopwatch::start(), host.commits());
    for number in 0..instances {
        play(&host, &format!("w{number}"), &mut judgements).await?;
    }
    let spent = watch.spent();
    let rounds = instances * ROUNDS;
    report.each("us_per_iteration", "us", 1e3, spent, rounds)?;
    // The commit that starts an instance belongs to no iteration.
    let (commits, fsyncs) = (host.commits().0 - before.0 - instances, host.commits().1 - before.1);
    ensure!(fsyncs >= 3 * rounds, "a transition was not on disk before the next one");
    report.amount("commits_per_iteration", commits as f64 / rounds as f64, "", rounds)
}

/// Starts an instance and waits until it is done. Reads the store only after the last judgement, so that polling is not
/// part of the measurement.
async fn play(host: &Host, id: &str, judgements: &mut UnboundedReceiver<()>) -> Result<()> {
    host.start(StartOptions { chart: "w9".into(), input: Value::Null, id: Some(id.to_owned()) }).await?;
    judgements.recv().await.context("the host is gone")?;
    let mut changes = host.changes();
    while host.reader().find(id)?.head.status == Status::Active {
        changes.changed().await?;
    }
    Ok(())
}

fn instances(n: u64) -> u64 {
    (n / ROUNDS).max(1)
}

/// Checks the final contexts in the store of the aborted process.
pub(crate) fn check(path: &Path, n: u64) -> Result<()> {
    let reader = crate::reader(path)?;
    let report = Report::new("rawko", LABEL);
    for number in 0..instances(n) {
        let row = reader.find(&format!("w{number}"))?;
        report.check("status", row.head.status, Status::Done)?;
        let restored = reader.snapshot(&row, None)?;
        let context = restored.snapshot.context_map(&restored.chart);
        report.check("rounds, last of the log", end(&context), expected())?;
    }
    Ok(())
}
