//! `durable w8|w9d|w10d|park [N]`: rawko's host on a real file. W8 counts acknowledged events per second; W9D is the loop of
//! W9 with every transition on disk; `park` starts a host on ten thousand parked instances. The work runs in a second
//! process of this program, which then aborts, so that only data on disk is checked afterwards.

mod park;
mod w10;
mod w8;
mod w9;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use rawko_host::{Edition, Gate, Host, SnapshotReader};
use rawko_store::{SqliteOptions, SqliteStore};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--worker", workload, n, path] => worker(workload, n.parse()?, Path::new(path)),
        [workload] => measure(workload, default_n(workload)?),
        [workload, n] => measure(workload, n.parse().context("N is a whole number")?),
        _ => bail!("which workload? w8, w9d, w10d or park"),
    }
}

fn default_n(workload: &str) -> Result<u64> {
    match workload {
        "w8" => Ok(200_000),
        "w9d" => Ok(2_000),
        "w10d" | "park" => Ok(10_000),
        other => bail!("no workload {other} in this program"),
    }
}

/// Beside this program's own build, because a temporary directory may be in memory.
fn directory() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let place = program.parent().context("a program lies in a directory")?.join("bench-disk");
    let place = place.join(std::process::id().to_string());
    std::fs::create_dir_all(&place)?;
    Ok(place)
}

fn measure(workload: &str, n: u64) -> Result<()> {
    let place = directory()?;
    let result = measure_in(&place, workload, n);
    std::fs::remove_dir_all(&place)?;
    result
}

fn measure_in(place: &Path, workload: &str, n: u64) -> Result<()> {
    let path = place.join("rawko.db");
    if workload == "park" {
        park::fill(&path, n)?;
    }
    let output = Command::new(std::env::current_exe()?)
        .args(["--worker", workload, &n.to_string()])
        .arg(&path)
        .stderr(Stdio::inherit())
        .output()?;
    // A successful worker aborts; an exit code means failure.
    ensure!(output.status.code().is_none(), "the worker failed");
    match workload {
        "w8" => w8::check(&path, n)?,
        "w9d" => w9::check(&path, n)?,
        "w10d" => w10::check(&path, n)?,
        _ => park::check(&path, n)?,
    }
    std::io::stdout().write_all(&output.stdout)?;
    Ok(())
}

fn worker(workload: &str, n: u64, path: &Path) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match workload {
        "w8" => runtime.block_on(w8::work(path, n))?,
        "w9d" => runtime.block_on(w9::work(path, n))?,
        "w10d" => runtime.block_on(w10::work(path, n))?,
        _ => runtime.block_on(park::work(path, n))?,
    }
    std::io::stdout().flush()?;
    std::process::abort()
}

async fn host(path: &Path, chart: &str, text: &str) -> Result<Host> {
    let store = Arc::new(SqliteStore::open(path, SqliteOptions::default())?);
    let builder = Host::builder().store(store).chart(Edition::read(chart, text)?).gate(Gate::open());
    Ok(builder.start().await?)
}

fn reader(path: &Path) -> Result<SnapshotReader> {
    Ok(SnapshotReader::new(Arc::new(SqliteStore::open(
        path,
        SqliteOptions { read_only: true, ..SqliteOptions::default() },
    )?)))
}
