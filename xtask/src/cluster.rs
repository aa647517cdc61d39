//! `cargo xtask cluster`: three Restate nodes on loopback, each killed in turn while orders go on. Apart from `test`, which it
//! would make too long.

use anyhow::{Result, bail};

use crate::run::run;
use crate::tools;

pub(crate) fn main(arguments: &[String]) -> Result<()> {
    if !arguments.is_empty() {
        bail!("unknown arguments {arguments:?}");
    }
    tools::install()?;
    run(
        "cargo",
        &["test", "-p", "rawko", "--test", "restate", "--", "--ignored", "--nocapture", "three_nodes"],
        &[],
    )
}
