//! Events per second through streams, and the latency from sending to receiving.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::Result;
use rawko_bench::report::Report;

use super::client::{Client, Stream};
use super::{Size, percentile_ms};

const SENDERS: u64 = 8;
/// Limit on events in one measurement.
const EVENTS_MAX: usize = 1 << 20;
/// Number of streams that measure latency; the others only count.
const LOOKING: u64 = 16;
const TITLE: &str = "\"title\":\"E";

type Sent = Arc<Vec<OnceLock<Instant>>>;

/// Events received by one stream.
struct Heard {
    events: u64,
    times: Vec<Duration>,
}

pub(crate) async fn measure(address: SocketAddr, clients: u64, size: &Size) -> Result<()> {
    let sent: Sent = Arc::new((0..EVENTS_MAX).map(|_| OnceLock::new()).collect());
    let mut streams = Vec::new();
    for _ in 0..clients {
        let mut stream = Client::connect(address).await?.stream().await?;
        // The first event confirms that the stream is open.
        stream.next().await?;
        streams.push(stream);
    }
    let begun = Instant::now();
    let (instances, each) = (size.instances, size.each);
    let mut senders = tokio::task::JoinSet::new();
    for sender in 0..SENDERS {
        senders.spawn(send(address, sender, instances, begun + each, Arc::clone(&sent)));
    }
    let (told, total) = tokio::sync::watch::channel(u64::MAX);
    let mut listeners = tokio::task::JoinSet::new();
    for (number, stream) in streams.into_iter().enumerate() {
        let is_looking = (number as u64) < LOOKING;
        listeners.spawn(listen(stream, is_looking.then(|| Arc::clone(&sent)), total.clone()));
    }
    let mut count = 0;
    while let Some(done) = senders.join_next().await {
        count += done??;
    }
    told.send_replace(count);
    let (mut events, mut times) = (0, Vec::new());
    while let Some(done) = listeners.join_next().await {
        let heard = done??;
        events += heard.events;
        times.extend(heard.times);
    }
    report(clients, count, events, begun.elapsed(), times)
}

async fn send(address: SocketAddr, sender: u64, instances: u64, until: Instant, sent: Sent) -> Result<u64> {
    let mut client = Client::connect(address).await?;
    let mut count = 0;
    while Instant::now() < until {
        let number = sender + count * SENDERS;
        let Some(place) = usize::try_from(number).ok().and_then(|at| sent.get(at)) else { break };
        place.get_or_init(Instant::now);
        let path = format!("/v1/instances/i-{}/events", number % instances);
        client.post(&path, &format!(r#"{{"type":"E{number}"}}"#)).await?;
        count += 1;
    }
    Ok(count)
}

/// Reads until all sent events have arrived.
async fn listen(
    mut stream: Stream,
    sent: Option<Sent>,
    mut total: tokio::sync::watch::Receiver<u64>,
) -> Result<Heard> {
    let mut heard = Heard { events: 0, times: Vec::new() };
    while heard.events < *total.borrow_and_update() {
        let bytes = tokio::select! {
            bytes = stream.next() => bytes?,
            _ = total.changed() => continue,
        };
        let now = Instant::now();
        for part in String::from_utf8_lossy(&bytes).split(TITLE).skip(1) {
            heard.events += 1;
            let number = part.split('"').next().and_then(|number| number.parse::<usize>().ok());
            let at = sent.as_ref().zip(number).and_then(|(sent, number)| sent.get(number)?.get());
            heard.times.extend(at.map(|at| now - *at));
        }
    }
    Ok(heard)
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn report(clients: u64, sent: u64, heard: u64, took: Duration, mut times: Vec<Duration>) -> Result<()> {
    let report = Report::new("rawko", "api");
    times.sort();
    let per_second = |count: u64| count as f64 / took.as_secs_f64();
    report.amount(&format!("streams_sent_per_second_{clients}"), per_second(sent), "1/s", sent)?;
    report.amount(&format!("streams_heard_per_second_{clients}"), per_second(heard), "1/s", heard)?;
    report.check("everybody heard everything", heard, sent * clients)?;
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
        let metric = format!("streams_{name}_{clients}");
        report.amount(&metric, percentile_ms(&times, share), "ms", times.len() as u64)?;
    }
    Ok(())
}
