//! Disk limit of SQLite: inserted rows, one and 64 per commit, with WAL and `synchronous=FULL`.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use rawko_bench::report::Report;
use rusqlite::Connection;

pub(crate) fn run(workload: &str, n: Option<u64>) -> Result<()> {
    if workload != "w8" {
        bail!("no workload {workload} for SQLite alone");
    }
    let n = n.unwrap_or(200_000);
    let program = std::env::current_exe()?;
    let place = program.parent().context("a program lies in a directory")?.join("bench-disk");
    std::fs::create_dir_all(&place)?;
    let path = place.join(format!("limit-{}.db", std::process::id()));
    let result = measure(&path, n);
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", path.display()));
    }
    result
}

fn measure(path: &Path, n: u64) -> Result<()> {
    let report = Report::new("sqlite", "w8");
    let mut connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.execute("CREATE TABLE events(id INTEGER PRIMARY KEY, body TEXT)", [])?;
    for (rows, commits, metric) in [(1, n / 10, "events_per_s_1"), (64, n / 64, "events_per_s_64")] {
        let from = Instant::now();
        for commit in 0..commits {
            let transaction = connection.transaction()?;
            for row in 0..rows {
                let body = format!("{{\"type\":\"INC\",\"count\":{}}}", commit * rows + row);
                transaction.prepare_cached("INSERT INTO events(body) VALUES(?1)")?.execute([body])?;
            }
            transaction.commit()?;
        }
        let events = rows * commits;
        report.amount(metric, events as f64 / from.elapsed().as_secs_f64(), "1/s", events)?;
    }
    let count: i64 = connection.query_row("SELECT count(*) FROM events", [], |row| row.get(0))?;
    report.check("the number of rows", count.unsigned_abs(), n / 10 + n / 64 * 64)
}
