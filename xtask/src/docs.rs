//! `cargo xtask docs`: the documentation as an mdBook site in `target/book`.

use std::path::Path;

use anyhow::Result;

use crate::run::{is_there, root, run};

const MDBOOK: &str = "target/tools/mdbook/bin/mdbook";

pub(crate) fn main() -> Result<()> {
    let mdbook = root().join(MDBOOK);
    let program = mdbook.display().to_string();
    if !is_there(&program, &["--version"]) {
        // Not among the tools of the tests: building it takes minutes, and no test reads the site.
        let into = root().join("target/tools/mdbook").display().to_string();
        let arguments = [
            "install",
            "mdbook",
            "--locked",
            "--no-default-features",
            "--features",
            "search",
            "--root",
            &into,
        ];
        run("cargo", &arguments, &[])?;
    }
    run(&program, &["build", "docs", "--dest-dir", &site(&root())], &[])
}

fn site(root: &Path) -> String {
    root.join("target/book").display().to_string()
}
