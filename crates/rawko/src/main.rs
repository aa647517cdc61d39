//! The `rawko` binary: arguments in, exit code out. Everything between is a command, one file each.

mod cli;
mod commands;
mod console;
mod failure;
mod files;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let mut console = console::Console::new(cli.color);
    let outcome = commands::run(cli.command, &mut console);
    failure::exit_code(outcome.and_then(|verdict| console.flush().map(|()| verdict)), &console)
}
