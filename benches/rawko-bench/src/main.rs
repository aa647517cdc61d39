//! `rawko-bench [--peer rawko|rawko-trace|table|statig] WORKLOAD [N]`: runs one workload once and prints what it took,
//! a JSON object a line. `cargo xtask bench` runs it beside the other peers' programs.

mod charts;
mod load;
mod rawko;
mod report;
mod statig;
mod table;

use anyhow::{Context, Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut words = arguments.iter().map(String::as_str).peekable();
    let peer = match words.next_if_eq(&"--peer") {
        Some(_) => words.next().context("--peer needs a name")?,
        None => "rawko",
    };
    let workload = words.next().context("which workload? w1 w2 w3 w4 w4b w5 w6 w7")?;
    let n = words.next().map(str::parse).transpose().context("N is a whole number")?;
    match peer {
        "rawko" => rawko::run(workload, n),
        "rawko-trace" => rawko::run_traced(workload, n),
        "table" => table::run(workload, n),
        "statig" => statig::run(workload, n),
        other => bail!("no peer {other} in this program"),
    }
}
