//! Parked instances: the start time of a host on a store full of them, and its memory afterwards.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use rawko_bench::report::{Report, resident_bytes};
use rawko_core::{NamedEvent, Value};
use rawko_host::StartOptions;

/// Half of them wait for a person, half for a timer, all with a small context.
const PARKED: &str = "
statechart:
  id: parked
  initial: deciding
  context: {number: 0, notes: [one, two, three], answer: null}
  states:
    deciding: {always: [{target: asking, guard: context.number % 2 == 0}, sleeping]}
    asking:
      invoke: {id: question, src: human, input: {title: \"'May I?'\", expires: \"'30d'\"}, onDone: done, onError: done}
    sleeping: {after: {30d: done}, on: {WAKE: done}}
    done: {type: final}
";

pub(crate) fn fill(path: &Path, n: u64) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let host = crate::host(path, "parked.yaml", PARKED).await?;
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..n {
            let host = host.clone();
            tasks.spawn(async move {
                let input = Value::map([("number", Value::Int(number as i64))]);
                host.start(StartOptions { chart: "parked".into(), input, id: Some(format!("p{number}")) })
                    .await
            });
            if tasks.len() >= 256 {
                tasks.join_next().await.transpose()?.transpose()?;
            }
        }
        while let Some(started) = tasks.join_next().await {
            started??;
        }
        host.close().await;
        Ok(())
    })
}

pub(crate) async fn work(path: &Path, n: u64) -> Result<()> {
    let report = Report::new("rawko", "park");
    let from = Instant::now();
    let host = crate::host(path, "parked.yaml", PARKED).await?;
    // The host is ready once it accepts an event.
    host.send("p1", NamedEvent::new("WAKE", Value::Null), None).await?;
    report.amount("restart_ms", from.elapsed().as_secs_f64() * 1e3, "ms", n)?;
    report.amount("resident_mb", resident_bytes()? / 1e6, "MB", n)
}

pub(crate) fn check(path: &Path, n: u64) -> Result<()> {
    let reader = crate::reader(path)?;
    let report = Report::new("rawko", "park");
    let store = reader.store();
    report.check("the number of instances", store.list(&rawko_store::Filter::default())?.total, n)?;
    // Half of them are the expiry times of questions.
    report.check("the number of timers", store.timers()?.len() as u64, n - 1)
}
