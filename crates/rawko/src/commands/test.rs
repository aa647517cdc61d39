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
A scenario file `NAME.scenario.yaml` lies beside the chart `NAME.yaml`. Each scenario plays events
and waits into a fresh instance, in virtual time with stubbed services, and says what should be
seen.

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
  rawko test --junit report.xml --no-coverage  # for continuous integration
  rawko test --crash --faults                  # again with crashes and faults";

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

    /// Run every scenario again with a crash at each commit
    #[arg(long)]
    crash: bool,

    /// Run every scenario again with each fault at each call
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
