//! `api RAWKO [INSTANCES] [STEPS] [SECONDS]`: measures the HTTP API of a real `rawko serve`, over real sockets and a
//! real store. Fills the store through the API, then prints requests per second and their latency with concurrent
//! clients, and the throughput and latency of events over a number of streams.

mod client;
mod requests;
mod server;
mod streams;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use server::Served;

/// Size of the measured store.
pub(crate) struct Size {
    pub(crate) instances: u64,
    /// Steps in the journal of the first instance.
    pub(crate) steps: u64,
    /// Duration of each measurement.
    pub(crate) each: Duration,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let rawko: PathBuf = arguments.next().context("the first argument is the rawko to measure")?.into();
    let numbers: Vec<u64> = arguments.map(|it| it.parse()).collect::<Result<_, _>>()?;
    let number = |at: usize, otherwise: u64| numbers.get(at).copied().unwrap_or(otherwise);
    let size = Size {
        instances: number(0, 10_000),
        steps: number(1, 100_000),
        each: Duration::from_secs(number(2, 5)),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(measure(&rawko, &size))
}

async fn measure(rawko: &std::path::Path, size: &Size) -> Result<()> {
    let served = Served::start(rawko)?;
    let address = served.address();
    requests::fill(address, size).await?;
    for clients in [1, 16, 64] {
        for request in requests::ALL {
            requests::measure(address, request, clients, size).await?;
        }
    }
    for clients in [1, 16, 64, 1_000] {
        streams::measure(address, clients, size).await?;
    }
    served.stop()
}

/// Returns the percentile of the sorted times, in milliseconds.
pub(crate) fn percentile_ms(sorted: &[Duration], share: f64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts are far below 2^53, and a share of one is a place in the list"
    )]
    let at = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
    sorted.get(at).map_or(0.0, |time| time.as_secs_f64() * 1_000.0)
}
