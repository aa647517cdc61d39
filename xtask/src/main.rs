//! `cargo xtask COMMAND`: maintenance commands. Plain Rust without installation; one module per command.

mod bench;
mod bless;
mod cluster;
mod deny;
mod dist;
mod docs;
mod nightly;
mod run;
mod sdks;
mod test;
#[cfg(test)]
mod tidy;
mod tools;
mod unprivileged;
mod vsix;

use anyhow::{Result, bail};

const COMMANDS: &str = "\
cargo xtask test            everything CI runs: tools, fmt, clippy, all tests
cargo xtask test --fast     all tests, without fmt and clippy
cargo xtask test --quick    the tests that need cargo alone, in a few minutes
cargo xtask nightly [JOB…]  the long tier: 100,000 seeds, 2,000 kills, long properties; ends with a table
cargo xtask deny            licences, sources and advisories of dependencies
cargo xtask dist --help     every package of a release, with checksums and a bill of materials
cargo xtask tools           install what the tests need (Debian and npm packages, by name)
cargo xtask bless           rewrite the goldens from what the code gives now
cargo xtask sdks            write the types of the SDKs from the OpenAPI document
cargo xtask vsix            build the VS Code extension to target/dist/rawko.vsix
cargo xtask docs            build the documentation as a site in target/book
cargo xtask cluster         three Restate nodes, each killed in turn
cargo xtask bench --help    rawko beside its peers";

#[expect(clippy::print_stdout, reason = "this is a terminal program")]
fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((command, rest)) = arguments.split_first() else { bail!("which command?\n{COMMANDS}") };
    match command.as_str() {
        "bench" => bench::main(rest),
        "test" => test::main(rest),
        "nightly" => nightly::main(rest),
        "deny" => deny::main(),
        "dist" => dist::main(rest),
        "tools" => tools::install(),
        "bless" => bless::main(rest),
        "docs" => docs::main(),
        "sdks" => sdks::main(),
        "vsix" => vsix::main(),
        "cluster" => cluster::main(rest),
        "help" | "--help" | "-h" => {
            println!("{COMMANDS}");
            Ok(())
        }
        other => bail!("no command `{other}`\n{COMMANDS}"),
    }
}
