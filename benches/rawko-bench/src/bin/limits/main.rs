//! `limits table|statig|sqlite WORKLOAD [N]`: the speed of charts that are compiled instead of loaded at run time, and
//! of the disk. Prints the same protocol as `rawko-bench`.

mod sqlite;
mod statig;
mod table;

use anyhow::{Context, Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut words = arguments.iter().map(String::as_str);
    let peer = words.next().context("which limit? table, statig or sqlite")?;
    let workload = words.next().context("which workload?")?;
    let n = words.next().map(str::parse).transpose().context("N is a whole number")?;
    match peer {
        "sqlite" => sqlite::run(workload, n),
        "table" => table::run(workload, n),
        "statig" => statig::run(workload, n),
        other => bail!("no limit {other} in this program"),
    }
}
