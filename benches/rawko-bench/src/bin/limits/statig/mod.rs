//! The same charts written for `statig`, which turns a hierarchy into Rust code at compile time: the speed of a
//! chart that cannot be loaded, changed or inspected. It has no regions, so W3 is four of them stepped in turn.

mod switch;
mod towers;
mod zigzag;

use anyhow::{Result, bail};

use rawko_bench::report::Report;

pub(crate) fn run(workload: &str, n: Option<u64>) -> Result<()> {
    let report = Report::new("statig", workload);
    match workload {
        "w1" => switch::w1(&report, n.unwrap_or(10_000_000)),
        "w3" => zigzag::w3(&report, n.unwrap_or(1_000_000)),
        "w4" => towers::w4(&report, n.unwrap_or(1_000_000)),
        "w4b" => towers::w4b(&report, n.unwrap_or(5_000_000)),
        other => bail!("statig has no workload {other}"),
    }
}
