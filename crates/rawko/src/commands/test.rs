//! `rawko test`: runs the scenario files beside a chart.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rawko_testing::{ProjectContent, Suite};

use crate::console::Console;
use crate::failure::{Failure, Verdict};
use crate::files;
use crate::loading;
use crate::project::Project;
use crate::scenario::report;

const EXAMPLES: &str = "\
Scenarios for the chart `NAME.yaml` are in `NAME.scenario.yaml` next to it. Each scenario sends
events to a new instance, advances virtual time, and compares the result with `expect`. Services are
stubbed.

  scenarios:
    - name: approved in time
      steps:
        - send: APPROVED
          data: {by: ada}
          expect: {configuration: charging, context: {approver: ada}}
        - advance: 24h
          expect: {status: done}

Examples:
  rawko test                                   # all scenario files in this directory
  rawko test order.scenario.yaml
  rawko test order.yaml                        # the scenarios of a chart
  rawko test --junit report.xml --no-coverage  # for CI
  rawko test --crash --faults                  # repeat with crashes and faults";

/// Run scenario tests of charts in virtual time
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Scenario file, chart or directory
    #[arg(default_value = ".")]
    path: PathBuf,

    /// Print the results as one JSON document
    #[arg(long)]
    json: bool,

    /// Also write the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Do not report uncovered states and transitions
    #[arg(long)]
    no_coverage: bool,

    /// Repeat every scenario with a crash at each commit
    #[arg(long)]
    crash: bool,

    /// Repeat every scenario with each fault at each call
    #[arg(long)]
    faults: bool,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Verdict, Failure> {
    let report = suite(args)?.run();
    if let Some(file) = &args.junit {
        files::write_text(file, &report.to_junit())?;
    }
    if args.json {
        report::print_json(&report, console)?
    } else {
        report::print_text(&report, console)?
    }
    Ok(if report.unusable() > 0 {
        Verdict::Invalid
    } else if report.failed() > 0 {
        Verdict::Failed
    } else {
        Verdict::Done
    })
}

fn suite(args: &Args) -> Result<Suite, Failure> {
    let mut suite = Suite::load(&args.path).map_err(|error| {
        if error.is_content() {
            Failure::Invalid(error.to_string())
        } else {
            Failure::Usage(error.to_string())
        }
    })?;
    let mut contents = BTreeMap::new();
    for path in suite.files() {
        contents.insert(path.to_owned(), project_content(path)?);
    }
    suite = suite.with_project(move |path| contents.get(path).cloned().unwrap_or_default());
    if args.no_coverage {
        suite = suite.without_coverage();
    }
    if args.crash {
        suite = suite.with_crashes();
    }
    if args.faults {
        suite = suite.with_faults();
    }
    Ok(suite)
}

/// Returns the charts and agents of the project around a scenario file.
fn project_content(path: &Path) -> Result<ProjectContent, Failure> {
    let project = Project::around(path)?;
    let mut content = ProjectContent::default();
    loading::add_registered(&mut content.charts, project.as_ref());
    content.agents = project.map(|project| project.agents).unwrap_or_default();
    Ok(content)
}
