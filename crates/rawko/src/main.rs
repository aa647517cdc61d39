//! The `rawko` binary: arguments in, exit code out. Everything between is a command, one file each.

mod authority;
mod channel;
mod checkpoints;
mod cli;
mod commands;
mod console;
mod costs;
mod delivering;
mod doctor;
mod durations;
mod failure;
mod files;
mod following;
mod hosting;
mod inputs;
mod journal;
mod known;
mod live_area;
mod loading;
mod project;
mod queue;
mod raising;
mod retention;
mod scenario;
#[cfg(feature = "server")]
mod served;
mod session;
mod settings_problems;
mod setup;
mod simulation;
mod sizes;
mod state_directory;
mod table;
mod templates;
mod trust;
mod verification;
mod walk;
mod watching;
mod wish;

use std::process::ExitCode;

pub(crate) use rawko_view::{standing, times};

fn main() -> ExitCode {
    rawko_process::run_if_asked();
    let cli = cli::parse();
    let mut console = console::Console::new(cli.color);
    let outcome = commands::run(cli.command, &mut console);
    let outcome = outcome.and_then(|verdict| console.flush().map(|()| verdict));
    failure::exit_code(outcome, &mut console)
}
