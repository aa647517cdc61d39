//! `cargo xtask bless`: rewrites the goldens. Review the diff before committing it.

use anyhow::Result;

use crate::run::run;

pub(crate) fn main(arguments: &[String]) -> Result<()> {
    let mut command = vec!["test", "--workspace", "--all-features", "--no-fail-fast"];
    command.extend(arguments.iter().map(String::as_str));
    run("cargo", &command, &[("UPDATE_EXPECT", "1")])
}
