//! Clients that send events sequentially, and their latencies. Shared by all hosts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rawko_core::{NamedEvent, Value};
use rawko_host::{Edition, Engine};

#[derive(Clone, Copy)]
pub(crate) struct Measured {
    events: f64,
    pub(crate) per_second: f64,
    pub(crate) median_ms: f64,
    /// 99th percentile.
    pub(crate) most_ms: f64,
    /// Processor time an event, of the server and of the workers.
    pub(crate) server_ms: f64,
    pub(crate) worker_ms: f64,
}

impl Measured {
    pub(crate) fn of(mut all: Vec<Duration>, time: Duration) -> Measured {
        all.sort_unstable();
        let at = |share: f64| all[((all.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
        let events = all.len() as f64;
        Measured {
            events,
            per_second: events / time.as_secs_f64(),
            median_ms: at(0.5),
            most_ms: at(0.99),
            server_ms: 0.0,
            worker_ms: 0.0,
        }
    }

    pub(crate) fn spent(&mut self, server: Duration, worker: Duration) {
        self.server_ms = server.as_secs_f64() * 1e3 / self.events;
        self.worker_ms = worker.as_secs_f64() * 1e3 / self.events;
    }

    /// Returns the medians of several rounds.
    pub(crate) fn median(rounds: Vec<Measured>) -> Measured {
        let of = |read: fn(&Measured) -> f64| {
            let mut all: Vec<f64> = rounds.iter().map(read).collect();
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        Measured {
            events: of(|it| it.events),
            per_second: of(|it| it.per_second),
            median_ms: of(|it| it.median_ms),
            most_ms: of(|it| it.most_ms),
            server_ms: of(|it| it.server_ms),
            worker_ms: of(|it| it.worker_ms),
        }
    }
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
    let taken_in = begun.elapsed();
    for (id, taken) in &counted {
        check(&**engine, id, taken.len() + 1)?;
    }
    Ok(Measured::of(counted.into_iter().flat_map(|(_, taken)| taken).collect(), taken_in))
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
