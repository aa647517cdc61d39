//! `cargo xtask COMMAND`: what maintainers run. Plain Rust, nothing to install; one module a command.

mod bench;

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((command, rest)) if command == "bench" => bench::main(rest),
        Some((command, _)) => bail!("no command {command}; there is: bench"),
        None => bail!("which command? There is: bench"),
    }
}
