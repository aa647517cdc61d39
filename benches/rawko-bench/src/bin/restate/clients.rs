//! Clients that send events sequentially, and their latencies. Shared by all hosts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rawko_core::{NamedEvent, Value};
use rawko_host::{Edition, Engine};

pub(crate) struct Measured {
    pub(crate) per_second: f64,
    pub(crate) median_ms: f64,
    /// 99th percentile.
    pub(crate) most_ms: f64,
}

/// Runs `clients` for the given time. All counts are checked afterwards, because the speed of wrong results is
/// meaningless.
pub(crate) async fn measure(
    engine: &Arc<dyn Engine>,
    chart: &Edition,
    clients: usize,
    name: &str,
    time: Duration,
) -> Result<Measured> {
    let ids: Vec<String> = (0..clients).map(|number| format!("{name}-{number}")).collect();
    for id in &ids {
        let input = Value::map([("limit", Value::Int(1_000_000_000))]);
        engine.start(chart.clone(), input, Some(id.clone()), Value::Null).await?;
        // Warms up the instance.
        increment(&**engine, id).await?;
    }
    let begun = Instant::now();
    let tasks: Vec<_> = ids
        .iter()
        .map(|id| {
            let (engine, id) = (Arc::clone(engine), id.clone());
            tokio::spawn(async move {
                let mut taken = Vec::new();
                while begun.elapsed() < time {
                    let from = Instant::now();
                    increment(&*engine, &id).await?;
                    taken.push(from.elapsed());
                }
                anyhow::Ok((id, taken))
            })
        })
        .collect();
    let mut counted = Vec::new();
    for task in tasks {
        counted.push(task.await??);
    }
    let seconds = begun.elapsed().as_secs_f64();
    for (id, taken) in &counted {
        check(&**engine, id, taken.len() + 1)?;
    }
    let mut all: Vec<Duration> = counted.into_iter().flat_map(|(_, taken)| taken).collect();
    all.sort_unstable();
    let at = |share: f64| all[((all.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    Ok(Measured { per_second: all.len() as f64 / seconds, median_ms: at(0.5), most_ms: at(0.99) })
}

async fn increment(engine: &dyn Engine, id: &str) -> Result<()> {
    engine.send(id.to_owned(), NamedEvent::new("INC", Value::Null), None).await?;
    Ok(())
}

fn check(engine: &dyn Engine, id: &str, sent: usize) -> Result<()> {
    let reader = engine.reader();
    let row = reader.find(id)?;
    let restored = reader.snapshot(&row, None)?;
    let count = restored.snapshot.context_map(&restored.chart).get("count").as_i64();
    ensure!(count == Some(sent as i64), "{id} has counted {count:?}, and {sent} were sent");
    Ok(())
}
