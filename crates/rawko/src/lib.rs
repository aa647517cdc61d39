//! The façade of rawko for Rust programs, and the command line, one file per command.
//!
#![doc = include_str!("docs/crate.md")]
#![warn(missing_docs)]

#[cfg(all(feature = "acp", feature = "cli"))]
mod acp;
#[cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports))]
mod authority;
#[cfg(feature = "cli")]
mod channel;
#[cfg(feature = "cli")]
mod checkpoints;
#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "cli")]
mod commands;
#[cfg(feature = "cli")]
mod console;
#[cfg(feature = "cli")]
mod costs;
#[cfg(feature = "cli")]
mod delivering;
#[cfg(feature = "cli")]
mod doctor;
#[cfg(feature = "cli")]
mod durations;
mod embed;
#[cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports))]
mod failure;
#[cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports))]
mod files;
#[cfg(feature = "cli")]
mod following;
#[cfg(feature = "cli")]
mod hooks;
#[cfg(feature = "cli")]
mod host_telemetry;
#[cfg(feature = "cli")]
mod hosting;
#[cfg(feature = "cli")]
mod inputs;
#[cfg(feature = "cli")]
mod journal;
#[cfg(feature = "cli")]
mod known;
#[cfg(feature = "cli")]
mod live_area;
#[cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports))]
mod loading;
#[cfg(feature = "cli")]
mod lsp;
#[cfg(feature = "cli")]
mod marks;
#[cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports))]
mod project;
#[cfg(feature = "cli")]
mod queue;
#[cfg(feature = "cli")]
mod raising;
#[cfg(feature = "cli")]
mod repeating;
#[cfg(feature = "cli")]
mod retention;
#[cfg(feature = "cli")]
mod scenario;
#[cfg(feature = "server")]
mod served;
#[cfg(feature = "cli")]
mod session;
#[cfg(feature = "cli")]
mod settings_problems;
#[cfg(feature = "cli")]
mod setup;
#[cfg(feature = "cli")]
mod simulation;
#[cfg(feature = "cli")]
mod sizes;
#[cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports))]
mod state_directory;
#[cfg(feature = "cli")]
mod table;
#[cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports))]
mod task_request;
#[cfg(feature = "cli")]
mod templates;
#[cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports))]
mod trust;
#[cfg(feature = "cli")]
mod verification;
#[cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports))]
mod walk;

#[cfg(feature = "cli")]
use std::process::ExitCode;

#[cfg(feature = "cli")]
pub(crate) use rawko_view::standing;
pub(crate) use rawko_view::times;

pub use embed::*;

/// Runs the `rawko` command line: the arguments of this process in, its exit code out.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub fn command_line() -> ExitCode {
    rawko_process::run_if_asked();
    let cli = cli::parse();
    let mut console = console::Console::new(cli.common.color);
    let outcome = commands::run(cli.command, &mut console);
    let outcome = outcome.and_then(|verdict| console.flush().map(|()| verdict));
    failure::exit_code(outcome, &mut console)
}

/// The guide's program, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../docs/embedding.md")]
pub struct EmbeddingGuide;
