//! `rawko schema`: the JSON Schema of the chart format, for editors.

use crate::console::Console;
use crate::failure::{CommandFailure, CommandVerdict};

const EXAMPLES: &str = "\
Examples:
  rawko schema > rawko.schema.json

  # first line of a chart, for editors with the YAML language server:
  # yaml-language-server: $schema=rawko.schema.json";

/// Print the JSON Schema of the chart format
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let text = serde_json::to_string_pretty(&rawko_chart::schema()).unwrap_or_default();
    console.line(&text)?;
    Ok(CommandVerdict::Done)
}
