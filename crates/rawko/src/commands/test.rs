//! `rawko test`: runs the scenario files that a chart's author keeps beside it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rawko_chart::render;
use rawko_core::Chart;

use crate::console::Console;
use crate::failure::{Failure, Verdict};
use crate::files;
use crate::loading;
use crate::project::Project;
use crate::scenario::coverage::Coverage;
use crate::scenario::model::ScenarioFile;
use crate::scenario::results::{FileResult, Results};
use crate::scenario::run::Stage;
use crate::scenario::{junit, read, report, run as play};
use crate::walk;

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

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Verdict, Failure> {
    let paths = scenario_files(&args.path)?;
    let mut coverage = Coverage::default();
    let mut results = Results::default();
    for path in &paths {
        results.files.push(run_file(path, &mut coverage)?);
    }
    if !args.no_coverage {
        results.coverage = coverage.results();
    }
    if let Some(file) = &args.junit {
        files::write_text(file, &junit::to_xml(&results))?;
    }
    if args.json {
        report::print_json(&results, console)?
    } else {
        report::print_text(&results, console)?
    }
    Ok(if results.unusable() > 0 {
        Verdict::Invalid
    } else if results.failed() > 0 {
        Verdict::Failed
    } else {
        Verdict::Done
    })
}

/// The file itself, those beside a chart, or all below a directory.
fn scenario_files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let found = if path.is_dir() {
        walk::files_below(path, &walk::is_scenario)?
    } else if !path.exists() || walk::is_scenario(&name) {
        vec![path.to_owned()]
    } else {
        let beside = |ending: &str| path.with_extension(format!("scenario.{ending}"));
        ["yaml", "yml", "json"].map(beside).into_iter().filter(|file| file.is_file()).collect()
    };
    if found.is_empty() {
        let place = if path.is_dir() { "below" } else { "beside" };
        let help = "a scenario file is called NAME.scenario.yaml and lies beside NAME.yaml";
        return Err(Failure::Usage(format!(
            "there are no scenario files {place} `{}` ({help})",
            path.display()
        )));
    }
    Ok(found)
}

/// Runs all scenarios of a file. What keeps them from being run is part of the result, so that other files still run.
fn run_file(path: &Path, coverage: &mut Coverage) -> Result<FileResult, Failure> {
    let source = files::read_source(path)?;
    let mut result =
        FileResult { file: files::shown(path), chart: None, problem: None, scenarios: Vec::new() };
    let file = match read::read(path, &source) {
        Ok(file) => file,
        Err(findings) => {
            result.problem = Some(render::report(&findings, &source, render::Style::default()));
            return Ok(result);
        }
    };
    let project = Project::around(path)?;
    match charts_of(&file) {
        Ok(charts) => run_scenarios(&file, &charts, project.as_ref(), coverage, &mut result),
        Err(Failure::Invalid(problem) | Failure::Usage(problem)) => result.problem = Some(problem),
        Err(Failure::Findings { rendered, .. }) => result.problem = Some(rendered),
        Err(other) => return Err(other),
    }
    Ok(result)
}

fn run_scenarios(
    file: &ScenarioFile,
    named: &[(String, Arc<Chart>)],
    project: Option<&Project>,
    coverage: &mut Coverage,
    result: &mut FileResult,
) {
    result.chart = named.first().map(|(name, _)| name.clone());
    let mut charts = Vec::new();
    for (name, chart) in named {
        coverage.expect(name, chart);
        charts.push(Arc::clone(chart));
    }
    loading::add_registered(&mut charts, project);
    let stage = Stage { charts: &charts, setup: &file.setup, project };
    for scenario in &file.scenarios {
        match play::run(&stage, scenario, coverage) {
            Ok(outcome) => result.scenarios.push(outcome),
            Err(problem) => result.problem = Some(format!("scenario `{}`: {problem}", scenario.name)),
        }
    }
}

/// The chart under test first, then those it may invoke.
fn charts_of(file: &ScenarioFile) -> Result<Vec<(String, Arc<Chart>)>, Failure> {
    let folder = file.path.parent().unwrap_or(Path::new(""));
    let main = match &file.chart {
        Some(chart) => folder.join(chart),
        None => chart_beside(&file.path)?,
    };
    let mut charts = Vec::new();
    for path in std::iter::once(main).chain(file.with.iter().map(|chart| folder.join(chart))) {
        let loaded = loading::runnable(&path)?;
        charts.push((files::shown(&path), loaded.chart));
    }
    Ok(charts)
}

/// `order.scenario.yaml` is about `order.yaml`, `order.yml` or `order.json`.
fn chart_beside(path: &Path) -> Result<PathBuf, Failure> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = name.split(".scenario.").next().unwrap_or_default();
    let candidates = ["yaml", "yml", "json"].map(|ending| path.with_file_name(format!("{stem}.{ending}")));
    candidates.into_iter().find(|candidate| candidate.is_file()).ok_or_else(|| {
        let help = format!("put `{stem}.yaml` beside it or say `chart: FILE` in it");
        Failure::Invalid(format!("there is no chart for `{}`: {help}", path.display()))
    })
}
