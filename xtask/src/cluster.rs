//! `cargo xtask cluster`: three Restate nodes on loopback, each killed in turn while orders go on. `test` has it too; this
//! shows what it says.

use anyhow::{Result, bail};

use crate::run::run;
use crate::tools;

pub(crate) fn main(arguments: &[String]) -> Result<()> {
    if !arguments.is_empty() {
        bail!("unknown arguments {arguments:?}");
    }
    tools::install()?;
    run("cargo", &["test", "--workspace", "--all-features", "--test", "cluster", "--", "--nocapture"], &[])
}
