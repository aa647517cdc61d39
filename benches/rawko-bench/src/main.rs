//! `rawko-bench [--trace] WORKLOAD [N]`: runs one workload once and prints its measurements, one JSON object per line.
//! `cargo xtask bench` runs it beside the programs of the peers.

mod load;
mod rawko;
mod verify;
mod w10;
mod w9;

use anyhow::{Context, Result};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut words = arguments.iter().map(String::as_str).peekable();
    let is_traced = words.next_if_eq(&"--trace").is_some();
    let workload = words.next().context("which workload? w1 w2 w3 w4 w4b w5 w6 w7 w9 w10 verify")?;
    let n = words.next().map(str::parse).transpose().context("N is a whole number")?;
    if is_traced { rawko::run_traced(workload, n) } else { rawko::run(workload, n) }
}
