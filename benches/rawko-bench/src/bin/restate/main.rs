//! `restate [SECONDS]`: events per second and latency with 1, 16 and 64 clients: on the local host, and on a Restate
//! server on loopback with one worker and with three. Each client has its own instance and sends events sequentially,
//! each acknowledged once it is stored. Prints a table for `docs/performance.md`.
//!
//! Workers run the `rawko` binary beside this program.

mod clients;
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

fn main() -> Result<()> {
    let seconds = std::env::args().nth(1).map_or(Ok(5), |text| text.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let time = Duration::from_secs(seconds);
    let mut table = Table::begin()?;
    runtime.block_on(embedded(time, &mut table))?;
    for workers in WORKERS {
        let site = site::Site::start(workers)?;
        let within = runtime.enter();
        let engine: Arc<dyn Engine> = Arc::new(site.engine()?);
        drop(within);
        for clients in CLIENTS {
            let name = format!("r{workers}-{clients}");
            let measured = runtime.block_on(clients::measure(&engine, &counter()?, clients, &name, time))?;
            table.row("Restate, one node", &workers.to_string(), clients, &measured)?;
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
        writeln!(out, "| host | workers | clients | events/s | median, ms | 99 of 100 within, ms |")?;
        writeln!(out, "|---|---|---|---|---|---|")?;
        Ok(Table { out })
    }

    fn row(&mut self, host: &str, workers: &str, clients: usize, measured: &Measured) -> Result<()> {
        let Measured { per_second, median_ms, most_ms } = measured;
        writeln!(
            self.out,
            "| {host} | {workers} | {clients} | {per_second:.0} | {median_ms:.2} | {most_ms:.2} |"
        )?;
        self.out.flush()?;
        Ok(())
    }
}
