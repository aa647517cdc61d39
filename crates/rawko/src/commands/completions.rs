//! `rawko completions`: prints a completion script for a shell.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::console::Console;
use crate::failure::{CommandFailure, CommandVerdict};

const EXAMPLES: &str = "\
Examples:
  rawko completions bash > ~/.local/share/bash-completion/completions/rawko
  rawko completions zsh > ~/.zfunc/_rawko
  rawko completions fish > ~/.config/fish/completions/rawko.fish";

/// Print a shell completion script
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Shell
    shell: Shell,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    // Written to a buffer first: the generator panics if the output is closed.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "rawko", &mut script);
    console.document(&String::from_utf8_lossy(&script))?;
    Ok(CommandVerdict::Done)
}
