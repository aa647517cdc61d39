//! `rawko simulate`: plays a chart through in virtual time, from a file, a pipe or a prompt.

use std::path::PathBuf;

use crate::console::Console;
use crate::failure::{Failure, Verdict};

const EXAMPLES: &str = "\
Stimuli are JSON objects, one a line: an event, or time that passes.

  {\"type\": \"APPROVED\", \"data\": {\"by\": \"ada\"}}
  {\"advance\": 1500}
  {\"advance\": \"24h\"}

Services answer as the stubs file says: after a while, with a result or an error. What has no stub waits
until a stimulus `done.invoke.<id>` or `error.invoke.<id>` answers it.

  {\"charge_card\": {\"after\": \"2s\", \"done\": {\"receipt\": \"r-1\"}},
   \"agent:linter\": {\"after\": 50, \"error\": {\"message\": \"no such rule\"}}}

On a terminal without --events a prompt takes the stimuli; `:help` there says how.

Examples:
  rawko simulate order.yaml
  rawko simulate order.yaml --with parcel.yaml --services stubs.json --events events.jsonl
  echo '{\"advance\": \"1m\"}' | rawko simulate traffic-light.yaml --json
  rawko simulate order.yaml --input order_id=o-17 --input amount=250 -v";

/// Play a chart through in virtual time, without any service or agent
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The chart; `-` reads standard input
    pub(crate) chart: PathBuf,

    /// A chart that may be invoked as a child
    #[arg(long, value_name = "CHART")]
    pub(crate) with: Vec<PathBuf>,

    /// Stubs for what the chart invokes, as JSON or YAML
    #[arg(long, value_name = "FILE")]
    pub(crate) services: Option<PathBuf>,

    /// Stimuli, one JSON object a line; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,

    /// Print one JSON object for the start and one for each stimulus
    #[arg(long)]
    pub(crate) json: bool,

    /// Say which transitions were taken, and why the others were not
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// Input of the instance: a JSON object, or key=value (may be given again)
    #[arg(long, value_name = "JSON|KEY=VALUE")]
    pub(crate) input: Vec<String>,

    /// Agents that `agents.select` can find, as JSON or YAML
    #[arg(long, value_name = "FILE")]
    pub(crate) agents: Option<PathBuf>,

    /// A value of the `env` binding (may be given again)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) env: Vec<String>,
}
