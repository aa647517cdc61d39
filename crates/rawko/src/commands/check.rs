//! `rawko check`: everything that is wrong with a chart or a whole project, at once.

use std::path::PathBuf;

use crate::console::Console;
use crate::failure::{Failure, Verdict};

const EXAMPLES: &str = "\
A directory is a project: every chart below it and in `.rawko/charts` is checked, references
between charts are looked up in every `machine_registry` found, agents in `.rawko/agents` and
services in `.rawko/config.yaml`. A single file inside a project is checked against them too.

Errors fail the check (exit code 52), warnings only with --strict.

Examples:
  rawko check order.yaml
  rawko check .
  rawko check order.yaml --with parcel.yaml
  cat order.yaml | rawko check -
  rawko check . --json | jq '.findings[].code'";

/// Find everything that is wrong with a chart, or with all charts of a project
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Charts or directories; `-` reads standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Print the findings as one JSON document
    #[arg(long)]
    json: bool,

    /// Let warnings fail the check as well
    #[arg(long)]
    strict: bool,

    /// A chart that others may invoke, though it lies elsewhere
    #[arg(long, value_name = "CHART")]
    with: Vec<PathBuf>,
}
