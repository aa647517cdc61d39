//! Requests per second, and their latency.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Result;
use rawko_bench::report::Report;

use super::client::Client;
use super::{Size, percentile_ms};

const FILLERS: u64 = 32;

#[derive(Clone, Copy)]
pub(crate) enum Request {
    /// The first page of all instances.
    List,
    /// The first page in another order: its name, and the request.
    Sorted(&'static str, &'static str),
    /// One instance.
    Read,
    /// Fifty entries from a random position in a long journal.
    Journal,
    /// Fifty entries from the end of a long journal, newest first.
    JournalEnd,
    /// An event, acknowledged once it is on disk.
    Send,
}

pub(crate) const ALL: [Request; 11] = [
    Request::List,
    Request::Sorted("list_by_title", "/v1/instances?sort=title"),
    Request::Sorted("list_by_outcome", "/v1/instances?sort=outcome"),
    Request::Sorted("list_by_age", "/v1/instances?sort=created&order=asc"),
    Request::Sorted("list_by_cost", "/v1/instances?sort=cost"),
    Request::Sorted("list_by_steps", "/v1/instances?sort=steps"),
    Request::Sorted("list_by_change", "/v1/instances?sort=updated"),
    Request::Read,
    Request::Journal,
    Request::JournalEnd,
    Request::Send,
];

impl Request {
    fn name(self) -> &'static str {
        match self {
            Request::List => "list",
            Request::Sorted(name, _) => name,
            Request::Read => "read",
            Request::Journal => "journal",
            Request::JournalEnd => "journal_end",
            Request::Send => "send",
        }
    }

    async fn run(self, client: &mut Client, number: u64, size: &Size) -> Result<Vec<u8>> {
        // Spread widely, and the same in every run.
        let somewhere = |most: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % most.max(1);
        match self {
            Request::List => client.get("/v1/instances").await,
            Request::Sorted(_, path) => client.get(path).await,
            Request::Read => client.get(&format!("/v1/instances/i-{}", somewhere(size.instances))).await,
            Request::Journal => {
                let from = somewhere(size.steps);
                client.get(&format!("/v1/instances/i-0/journal?from={from}&limit=50")).await
            }
            Request::JournalEnd => client.get("/v1/instances/i-0/journal?limit=50&order=desc").await,
            Request::Send => {
                let path = format!("/v1/instances/i-{}/events", somewhere(size.instances));
                client.post(&path, r#"{"type":"TICK"}"#).await
            }
        }
    }
}

/// Creates the instances, and the long journal of the first.
pub(crate) async fn fill(address: SocketAddr, size: &Size) -> Result<()> {
    let begun = Instant::now();
    let mut fillers = tokio::task::JoinSet::new();
    for filler in 0..FILLERS {
        let mine = (filler..size.instances).step_by(FILLERS as usize);
        fillers.spawn(async move {
            let mut client = Client::connect(address).await?;
            for number in mine {
                let body = format!(r#"{{"chart":"bench","id":"i-{number}"}}"#);
                client.post("/v1/instances", &body).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = fillers.join_next().await {
        done??;
    }
    let report = Report::new("rawko", "api");
    per_second(&report, "start", FILLERS, size.instances, begun.elapsed())?;
    let begun = Instant::now();
    for filler in 0..FILLERS {
        let mine = (filler..size.steps).step_by(FILLERS as usize).count();
        fillers.spawn(async move {
            let mut client = Client::connect(address).await?;
            for _ in 0..mine {
                client.post("/v1/instances/i-0/events", r#"{"type":"TICK"}"#).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = fillers.join_next().await {
        done??;
    }
    per_second(&report, "send_to_one", FILLERS, size.steps, begun.elapsed())
}

pub(crate) async fn measure(address: SocketAddr, request: Request, clients: u64, size: &Size) -> Result<()> {
    let begun = Instant::now();
    let (instances, steps, each) = (size.instances, size.steps, size.each);
    let mut all = tokio::task::JoinSet::new();
    for client in 0..clients {
        all.spawn(async move {
            let size = Size { instances, steps, each };
            let mut connection = Client::connect(address).await?;
            let mut times = Vec::new();
            while begun.elapsed() < each {
                let number = client * 1_000_003 + times.len() as u64;
                let asked = Instant::now();
                request.run(&mut connection, number, &size).await?;
                times.push(asked.elapsed());
            }
            anyhow::Ok(times)
        });
    }
    let mut times = Vec::new();
    while let Some(done) = all.join_next().await {
        times.extend(done??);
    }
    let took = begun.elapsed();
    times.sort();
    let report = Report::new("rawko", "api");
    per_second(&report, request.name(), clients, times.len() as u64, took)?;
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
        let metric = format!("{}_{name}_{clients}", request.name());
        report.amount(&metric, percentile_ms(&times, share), "ms", times.len() as u64)?;
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn per_second(report: &Report, what: &str, clients: u64, count: u64, took: Duration) -> Result<()> {
    report.amount(&format!("{what}_per_second_{clients}"), count as f64 / took.as_secs_f64(), "1/s", count)
}
