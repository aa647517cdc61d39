//! One file per command. Each has its arguments, its help and a `run`.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod graph;
pub(crate) mod import;
pub(crate) mod schema;
pub(crate) mod simulate;
pub(crate) mod test;

use crate::cli::Command;
use crate::console::Console;
use crate::failure::{Failure, Verdict};

pub(crate) fn run(command: Command, console: &mut Console) -> Result<Verdict, Failure> {
    match command {
        Command::Check(args) => check::run(&args, console),
        Command::Simulate(args) => simulate::run(&args, console),
        Command::Graph(args) => graph::run(&args, console),
        Command::Test(args) => test::run(&args, console),
        Command::Import(args) => import::run(&args, console),
        Command::Schema(args) => schema::run(&args, console),
        Command::Completions(args) => completions::run(&args, console),
    }
}
