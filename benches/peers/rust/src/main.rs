//! `agent-peers graph-flow|adk-graph w9|w9d [N]`: the loop of W9 in agent frameworks written in Rust; `w9d` with the
//! SQLite checkpointer of `adk-graph`, which writes after every node. N iterations, fifty to a run.

mod adk;
mod flow;
mod report;

use anyhow::{Context, Result, bail};

use report::Report;

/// Iterations of one run.
const ROUNDS: i64 = 50;

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [peer, workload, rest @ ..] = words.as_slice() else { bail!("which peer, and which workload?") };
    let n: u64 = rest.first().map_or(Ok(20_000), |n| n.parse()).context("N is a whole number")?;
    let runs = (n / ROUNDS.unsigned_abs()).max(1);
    match (peer.as_str(), workload.as_str()) {
        ("graph-flow", "w9") => flow::measure(&Report::new("graph-flow", workload), runs).await,
        ("adk-graph", "w9") => adk::measure(&Report::new("adk-graph", workload), runs).await,
        ("adk-graph", "w9d") => adk::measure_on_disk(&Report::new("adk-graph", workload), runs).await,
        _ => bail!("{peer} has no workload {workload}"),
    }
}

/// What must hold after each run: all iterations, and the last entry of the log.
fn check(i: i64, log: &[i64]) -> Result<()> {
    anyhow::ensure!(
        i == ROUNDS && log.len() == 50 && log.last() == Some(&(2 * (ROUNDS - 1))),
        "a run ended with i = {i} and the log {log:?}"
    );
    Ok(())
}
