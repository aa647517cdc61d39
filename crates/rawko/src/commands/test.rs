//! `rawko test`: runs the scenario files that a chart's author keeps beside it.

use std::path::{Path, PathBuf};

use crate::console::Console;
use crate::failure::{Failure, Verdict};

const EXAMPLES: &str = "\
A scenario file `NAME.scenario.yaml` lies beside the chart `NAME.yaml`. Each scenario plays events and
waits into a fresh instance, in virtual time with stubbed services, and says what should be seen.

  scenarios:
    - name: approved in time
      steps:
        - send: APPROVED
          data: {by: ada}
          expect: {configuration: charging, context: {approver: ada}}
        - advance: 24h
          expect: {status: done}

Examples:
  rawko test                                   # every scenario file below this directory
  rawko test order.scenario.yaml
  rawko test order.yaml                        # the scenarios beside a chart
  rawko test --junit report.xml --no-coverage  # for continuous integration";

/// Run scenario files: what a chart should do, step by step in virtual time
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A scenario file, a chart with scenarios beside it, or a directory
    #[arg(default_value = ".")]
    path: PathBuf,

    /// Print the results as one JSON document
    #[arg(long)]
    json: bool,

    /// Write the results as JUnit XML, too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Do not say which states and transitions no scenario visited
    #[arg(long)]
    no_coverage: bool,
}
