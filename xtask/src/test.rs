//! `cargo xtask test`: all that decides whether a change lands, cheapest first. The same here and in CI.

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
        run("cargo", &["doc", "--workspace", "--no-deps", "--quiet"], &[("RUSTDOCFLAGS", "-D warnings")])?;
    }
    run("cargo", &["test", "--workspace", "--no-fail-fast"], &[])
}
