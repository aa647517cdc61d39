//! `rawko lsp`: rawko as a language server, for editors.

use crate::console::Console;
use crate::failure::{CommandFailure, CommandVerdict};
use crate::lsp::{self, Exit};

const EXAMPLES: &str = "\
An editor starts it and talks to it over standard input and output. Charts (YAML and JSON) get
the findings of `rawko check` while you type, completion, hover, go to state, chart and agent,
references, rename of a state, an outline, and a drawing (request `rawko/drawing`). Settings,
registries and agent files get their findings. Nothing of the project is run.

The folder `editors/vscode` of the sources builds an extension for VS Code. The guide on editors
has the settings of others.

Examples:
  rawko lsp";

/// Serve an editor as a language server for charts
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Accepted because clients pass it; there is no other transport
    #[arg(long, hide = true)]
    stdio: bool,
}

pub(crate) fn run(_args: &Args, _console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    match lsp::serve(std::io::stdin(), std::io::stdout().lock()) {
        Ok(Exit::Orderly) => Ok(CommandVerdict::Done),
        Ok(Exit::Abrupt) => Err(CommandFailure::Failed("the editor left without `shutdown`".to_owned())),
        Err(error) => Err(CommandFailure::Failed(format!("cannot talk to the editor: {error}"))),
    }
}
