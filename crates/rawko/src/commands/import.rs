//! `rawko import`: charts written for other tools, in our format.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::console::{Console, Style};
use crate::failure::{Failure, Verdict};
use crate::files;

const EXAMPLES: &str = "\
What could not be carried over is said on standard error. Charts nested in the file are written
beside the output file, one each.

Examples:
  rawko import player.scxml -o player.yaml
  rawko import machine.json --from xstate > machine.yaml
  curl -s https://example.org/player.scxml | rawko import - --from scxml";

/// Turn SCXML or an XState v5 JSON configuration into a rawko chart
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The file to read; `-` reads standard input
    file: PathBuf,

    /// Write to a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// What the file is; otherwise by its ending and its content
    #[arg(long, value_name = "FORMAT")]
    from: Option<From>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum From {
    Scxml,
    Xstate,
}

/// The format asked for, else the one the name or the first character gives away.
fn format_of(asked: Option<From>, path: &Path, text: &str) -> From {
    let by_name = || match path.extension().and_then(|ending| ending.to_str()) {
        Some("scxml" | "xml") => From::Scxml,
        Some("json") => From::Xstate,
        _ if text.trim_start_matches('\u{feff}').trim_start().starts_with('<') => From::Scxml,
        _ => From::Xstate,
    };
    asked.unwrap_or_else(by_name)
}
