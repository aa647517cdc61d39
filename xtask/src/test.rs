//! `cargo xtask test`: all checks that a change must pass, cheapest first. CI runs the same command.

use anyhow::{Result, bail};

use crate::run::run;
use crate::tools;

pub(crate) fn main(arguments: &[String]) -> Result<()> {
    let fast = match arguments {
        [] => false,
        [flag] if flag == "--fast" => true,
        other => bail!("unknown arguments {other:?}; there is --fast"),
    };
    tools::install()?;
    if !fast {
        run("cargo", &["fmt", "--all", "--check"], &[])?;
        run("cargo", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])?;
        // Drawing has its own layout for builds without the copyleft one.
        run("cargo", &["check", "-p", "rawko-chart", "--no-default-features"], &[])?;
        run("cargo", &["doc", "--workspace", "--no-deps", "--quiet"], &[("RUSTDOCFLAGS", "-D warnings")])?;
    }
    run("cargo", &["test", "--workspace", "--no-fail-fast"], &[])
}
