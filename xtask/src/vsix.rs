//! `cargo xtask vsix`: builds the VS Code extension to `target/dist/rawko.vsix`, with the tools of `cargo xtask tools`.

use std::fs;

use anyhow::{Result, bail};

use crate::run::{root, run};

const TOOLS: &str = "target/tools/lsp";
const PACKAGE: &str = "target/dist/rawko.vsix";

pub(crate) fn main() -> Result<()> {
    if !root().join(TOOLS).join("node_modules").exists() {
        bail!("{TOOLS} is missing; run `cargo xtask tools` first");
    }
    run("cargo", &["build", "-p", "rawko"], &[])?;
    fs::create_dir_all(root().join("target/dist"))?;
    run("node", &["editors/vscode/build.mjs", TOOLS, PACKAGE, "target/debug/rawko"], &[])
}
