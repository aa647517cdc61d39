//! `restate [SECONDS [ROUNDS [WORKERS]]]`: events per second, latency and processor time with 1, 16 and 64 clients: on the local host,
//! and on a Restate server on loopback with one worker and with three, beside a bare handler that stores as many bytes.
//! Each client has its own instance and sends events sequentially, each acknowledged once it is stored. Prints tables for
//! `docs/performance.md`; with several rounds, the medians of each row.
//!
//! Workers run the `rawko` binary beside this program; without one, this program is the worker, of which there is one then.

mod bare;
mod clients;
mod lists;
mod site;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use rawko_bench::charts;
use rawko_host::{Edition, Engine, Gate, Host};
use rawko_store::{SqliteOptions, SqliteStore};

use clients::Measured;

const CLIENTS: [usize; 3] = [1, 16, 64];
const WORKERS: [usize; 2] = [1, 3];
/// Handlers of the bare object, and their names in the table.
const BARE: [(&str, &str); 2] = [("increment", "bare handler"), ("decide", "bare handler with a run")];

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        Some(("bare", arguments)) => return runtime.block_on(bare::serve(arguments)),
        Some(("own-worker", arguments)) => return runtime.block_on(site::serve_as_worker(arguments)),
        Some(_) | None => {}
    }
    if arguments.first().is_some_and(|first| first == "lists") {
        let instances = arguments.get(1).map_or(Ok(10_000), |text| text.parse())?;
        return lists::measure(&runtime, instances);
    }
    let number = |at: usize, default: u64| arguments.get(at).map_or(Ok(default), |text| text.parse());
    let (time, rounds) = (Duration::from_secs(number(0, 5)?), number(1, 1)?);
    let mut table = Table::begin()?;
    runtime.block_on(embedded(time, &mut table))?;
    let numbers = arguments.get(2).map(|text| text.parse().map(|workers| vec![workers])).transpose()?;
    for workers in numbers.unwrap_or_else(|| WORKERS.to_vec()) {
        let mut site = site::Site::start(workers)?;
        let within = runtime.enter();
        let engine: Arc<dyn Engine> = Arc::new(site.engine()?);
        drop(within);
        runtime.block_on(beside_bare((&mut site, workers), &engine, (time, rounds), &mut table))?;
    }
    Ok(())
}

/// Measures steps and the bare handler in turns, so that both have the same load of the machine.
async fn beside_bare(
    (site, workers): (&mut site::Site, usize),
    engine: &Arc<dyn Engine>,
    (time, rounds): (Duration, u64),
    table: &mut Table,
) -> Result<()> {
    let restate = Arc::new(site.restate()?);
    let chart = counter()?;
    let first =
        clients::measure(engine, &chart, 1, &format!("warm{workers}"), Duration::from_secs(1)).await?;
    anyhow::ensure!(first.per_second > 0.0, "no event was taken");
    let bytes = bare::StoredBytes::of(&restate, &format!("warm{workers}-0")).await?;
    writeln!(std::io::stderr(), "a step stores {bytes:?}")?;
    site.start_bare(bytes).await?;
    for clients in CLIENTS {
        let mut rows: Vec<(&str, Vec<Measured>)> = vec![("Restate, one node", Vec::new())];
        rows.extend(BARE.map(|(_, name)| (name, Vec::new())));
        for round in 0..rounds {
            let name = format!("r{workers}-{clients}-{round}");
            for (at, (_, measured)) in rows.iter_mut().enumerate() {
                let (server, worker) = site.processor_time()?;
                let mut of = match at {
                    0 => clients::measure(engine, &chart, clients, &name, time).await?,
                    _ => bare::measure(&restate, (BARE[at - 1].0, &name), clients, time).await?,
                };
                let (server_now, worker_now) = site.processor_time()?;
                of.spent(server_now - server, worker_now - worker);
                measured.push(of);
            }
        }
        for (name, measured) in rows {
            table.row(name, &workers.to_string(), clients, &Measured::median(measured))?;
        }
    }
    Ok(())
}

async fn embedded(time: Duration, table: &mut Table) -> Result<()> {
    let place = directory()?;
    let store = Arc::new(SqliteStore::open(&place.join("rawko.db"), SqliteOptions::default())?);
    let host = Host::builder().store(store).chart(counter()?).gate(Gate::open()).start().await?;
    let engine: Arc<dyn Engine> = Arc::new(host.clone());
    for clients in CLIENTS {
        let name = format!("e{clients}");
        let measured = clients::measure(&engine, &counter()?, clients, &name, time).await?;
        table.row("embedded", "–", clients, &measured)?;
    }
    host.close().await;
    std::fs::remove_dir_all(place)?;
    Ok(())
}

/// A counter that never ends.
fn counter() -> Result<Edition> {
    Ok(Edition::read("w2.json", charts::W2)?)
}

/// Beside this program's own build, because a temporary directory may be in memory.
fn directory() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let place = program.parent().context("a program lies in a directory")?.join("bench-restate");
    let place = place.join(std::process::id().to_string());
    std::fs::create_dir_all(&place)?;
    Ok(place)
}

/// Rows are printed as they are measured, because the whole run takes minutes.
struct Table {
    out: std::io::Stdout,
}

impl Table {
    fn begin() -> Result<Table> {
        let mut out = std::io::stdout();
        writeln!(
            out,
            "| host | workers | clients | events/s | median, ms | 99 of 100 within, ms | CPU of server / worker an event, ms |"
        )?;
        writeln!(out, "|---|---|---|---|---|---|---|")?;
        Ok(Table { out })
    }

    fn row(&mut self, host: &str, workers: &str, clients: usize, measured: &Measured) -> Result<()> {
        let Measured { per_second, median_ms, most_ms, server_ms, worker_ms, .. } = measured;
        writeln!(
            self.out,
            "| {host} | {workers} | {clients} | {per_second:.0} | {median_ms:.2} | {most_ms:.2} | {server_ms:.2} / {worker_ms:.2} |"
        )?;
        self.out.flush()?;
        Ok(())
    }
}
