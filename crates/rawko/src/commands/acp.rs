//! `rawko acp`: rawko as an agent of the Agent Client Protocol, for editors.

use crate::acp;
use crate::console::Console;
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::{self, StoreArgs};

const EXAMPLES: &str = "\
An editor starts it and talks to it over standard input and output: each prompt is a task of the
project in the editor's directory (`rawko task`), with its agents, checks, limits and permissions.
Text, tool calls, diffs and plans stream to the editor, and permissions and questions are asked
there. Cancelling pauses the task; the next prompt continues it, also after a restart.

In Zed, add to settings.json:
  \"agent_servers\": {\"rawko\": {\"type\": \"custom\", \"command\": \"rawko\", \"args\": [\"acp\"]}}

Examples:
  rawko acp
  rawko ps                                     tasks of all sessions; `rawko show ID` for one";

/// Serve an editor as an agent of the Agent Client Protocol
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    hosting::block_on(acp::serve(&args.store, console))?;
    Ok(CommandVerdict::Done)
}
