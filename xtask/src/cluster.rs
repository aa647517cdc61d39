//! `cargo xtask cluster`: kills each of three Restate nodes on loopback in turn while orders are processed. `test`
//! kills one of them; this command also shows the output.

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
        &["test", "--workspace", "--all-features", "--test", "cluster", "--", "--nocapture"],
        &[("RAWKO_NODE_KILLS", "3")],
    )
}
