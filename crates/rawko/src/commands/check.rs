//! `rawko check`: reports all problems of a chart or a whole project at once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rawko_chart::{Finding, Registry, Severity, SourceFile, render};
use rawko_host::Settings;
use serde_json::Value as Json;

use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::files;
use crate::loading;
use crate::project::{self, LoadedProject, Recursion, Twins};
use crate::scenario::report::count;
use crate::settings_problems;

const EXAMPLES: &str = "\
A directory is checked as a project: all charts below it and in `.rawko/charts`, with references to
charts (every `machine_registry`), agents (`.rawko/agents`) and services (`.rawko/config.yaml`). A
single file inside a project is checked against the same names.

The exit code is 52 if there are errors, or warnings with --strict.

Examples:
  rawko check order.yaml
  rawko check .
  rawko check order.yaml --with parcel.yaml
  cat order.yaml | rawko check -
  rawko check . --json | jq '.findings[].code'";

/// Check a chart or a whole project for problems
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Charts or directories, or `-` for standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Print the findings as one JSON document
    #[arg(long)]
    json: bool,

    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,

    /// Chart outside the project that may be invoked (repeatable)
    #[arg(long, value_name = "CHART")]
    with: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let mut report = FindingsReport::default();
    for path in &args.paths {
        if path.is_dir() {
            check_project(path, args, &mut report)?;
        } else {
            check_file(path, args, &mut report)?;
        }
    }
    report.check_recursion(&args.with)?;
    if report.charts == 0 && report.findings() == 0 {
        let places: Vec<_> = args.paths.iter().map(|path| path.display().to_string()).collect();
        return Err(CommandFailure::Usage(format!("no charts found in `{}`", places.join("`, `"))));
    }
    let failed = report.errors() > 0 || (args.strict && report.warnings() > 0);
    if args.json {
        report.print_json(failed, console)?
    } else {
        report.print_text(console)?
    }
    Ok(if failed { CommandVerdict::Invalid } else { CommandVerdict::Done })
}

/// Returns the charts of a project with their findings.
pub(crate) fn charts_of(dir: &Path) -> Result<Vec<(SourceFile, Vec<Finding>)>, CommandFailure> {
    let mut report = FindingsReport::default();
    let args = Args { paths: vec![dir.to_owned()], with: Vec::new(), strict: false, json: false };
    check_project(dir, &args, &mut report)?;
    report.check_recursion(&[])?;
    let FindingsReport { files, chart_files, .. } = report;
    let files = files.into_iter().enumerate();
    Ok(files.filter(|(at, _)| chart_files.contains(at)).map(|(_, file)| file).collect())
}

fn check_project(dir: &Path, args: &Args, report: &mut FindingsReport) -> Result<(), CommandFailure> {
    let below = LoadedProject::at(dir)?;
    let mut homes: Vec<(PathBuf, Registry)> = vec![(dir.to_owned(), known(Some(&below), args)?)];
    report.add_problems(&below);
    report.add_settings(dir, &homes[0].1);
    let mut twins = Twins::default();
    for path in &below.charts {
        // A directory may contain whole projects, or be part of one: a chart belongs to the nearest.
        let home = LoadedProject::home_of(path).unwrap_or_else(|| dir.to_owned());
        if !homes.iter().any(|(known, _)| *known == home) {
            let project = LoadedProject::at(&home)?;
            report.add_problems(&project);
            let known = known(Some(&project), args)?;
            report.add_settings(&home, &known);
            homes.push((home.clone(), known));
        }
        if let Some((_, known)) = homes.iter().find(|(known, _)| *known == home) {
            let file = report.check(path, known, Some(&home))?;
            report.add_to(file, |source| twins.meet(&home, path, source));
        }
    }
    Ok(())
}

/// Checks a chart, or a registry with all charts that it lists.
fn check_file(path: &Path, args: &Args, report: &mut FindingsReport) -> Result<(), CommandFailure> {
    let project = LoadedProject::around(path)?;
    if let Some(listed) = LoadedProject::of_registry(path) {
        report.add_problems(&listed);
        let known = known(Some(project.as_ref().unwrap_or(&listed)), args)?;
        let home = LoadedProject::home_of(path);
        for chart in &listed.charts {
            report.check(chart, &known, home.as_deref())?;
        }
        return Ok(());
    }
    report.check(path, &known(project.as_ref(), args)?, LoadedProject::home_of(path).as_deref())?;
    Ok(())
}

/// Returns the names that charts may refer to: those of the project, and every other chart on the command line.
fn known(project: Option<&LoadedProject>, args: &Args) -> Result<Registry, CommandFailure> {
    let mut known = project.map_or_else(loading::registry, LoadedProject::known);
    for path in
        args.with.iter().chain(args.paths.iter().filter(|path| !path.is_dir() && !files::is_stdin(path)))
    {
        project::add_chart(&mut known, path, &files::read(path)?);
    }
    Ok(known)
}

/// The findings of all files, and the number of charts.
#[derive(Default)]
struct FindingsReport {
    charts: usize,
    files: Vec<(SourceFile, Vec<Finding>)>,
    /// Positions of the charts in `files`.
    chart_files: Vec<usize>,
    /// Positions of the charts in `files`, by canonical path: several arguments may lead to one file.
    checked: BTreeMap<PathBuf, usize>,
    /// By project; `None` for charts outside of any project.
    recursions: BTreeMap<Option<PathBuf>, Recursion>,
}

impl FindingsReport {
    /// Checks a chart, unless that was done; returns the position of its file.
    fn check(&mut self, path: &Path, known: &Registry, home: Option<&Path>) -> Result<usize, CommandFailure> {
        let file = self.files.len();
        if let Some(full) = path.canonicalize().ok().filter(|_| !files::is_stdin(path)) {
            if let Some(known) = self.checked.get(&full) {
                return Ok(*known);
            }
            self.checked.insert(full, file);
        }
        let (source, loaded) = rawko_chart::load_bytes(&files::shown(path), &files::read(path)?, known);
        self.charts += 1;
        self.chart_files.push(file);
        let recursion = self.recursions.entry(home.map(Path::to_owned)).or_default();
        recursion.add(&loaded, Some(file));
        self.add(source, loaded.findings);
        Ok(file)
    }

    /// Reports charts that invoke each other in a cycle. Charts outside the report are read only if a reported chart
    /// leads to one.
    fn check_recursion(&mut self, with: &[PathBuf]) -> Result<(), CommandFailure> {
        for (home, mut recursion) in std::mem::take(&mut self.recursions) {
            if recursion.is_open() {
                let mut others = with.to_vec();
                if let Some(home) = &home {
                    others.extend(LoadedProject::at(home)?.charts);
                }
                recursion.follow(&others);
            }
            for (file, finding) in recursion.findings() {
                self.files[file].1.push(finding);
            }
        }
        Ok(())
    }

    /// Adds a finding to a checked file.
    fn add_to(&mut self, file: usize, finding: impl FnOnce(&SourceFile) -> Option<Finding>) {
        if let Some((source, findings)) = self.files.get_mut(file) {
            findings.extend(finding(source));
        }
    }

    /// Adds problems outside of charts. A registry is part of every project that encloses it, but is reported once.
    fn add_problems(&mut self, project: &LoadedProject) {
        for (source, findings) in &project.problems {
            if !self.files.iter().any(|(known, _)| known.name == source.name) {
                self.add(source.clone(), findings.clone());
            }
        }
    }

    /// Adds the errors of the settings of a project, in every section. Warnings depend on the environment of the host, and
    /// are left to `doctor`.
    fn add_settings(&mut self, home: &Path, known: &Registry) {
        let (settings, problems) = Settings::read(home);
        let (_, agents) = rawko_agents::work::AgentServices::read(home, &settings);
        let mut all = settings_problems::all(home, &settings, &problems, &agents);
        all.extend(settings_problems::unknown_charts(&settings, known));
        for (source, mut findings) in all {
            findings.retain(|finding| finding.severity >= Severity::Error);
            match self.files.iter_mut().find(|(known, _)| known.name == source.name) {
                Some((_, known)) => {
                    let new: Vec<Finding> = findings.into_iter().filter(|it| !known.contains(it)).collect();
                    known.extend(new);
                }
                None if findings.is_empty() => {}
                None => self.add(source, findings),
            }
        }
    }

    fn add(&mut self, source: SourceFile, findings: Vec<Finding>) {
        self.files.push((source, findings));
    }

    fn count(&self, counts: impl Fn(Severity) -> bool) -> usize {
        self.files
            .iter()
            .flat_map(|(_, findings)| findings)
            .filter(|finding| counts(finding.severity))
            .count()
    }

    fn errors(&self) -> usize {
        self.count(|severity| severity >= Severity::Error)
    }

    fn warnings(&self) -> usize {
        self.count(|severity| severity == Severity::Warning)
    }

    fn findings(&self) -> usize {
        self.count(|_| true)
    }

    fn print_text(&self, console: &mut Console) -> Result<(), CommandFailure> {
        for (source, findings) in self.files.iter().filter(|(_, findings)| !findings.is_empty()) {
            console.report(findings, source)?;
        }
        let summary = self.summary();
        let style = match (self.errors(), self.warnings()) {
            (0, 0) => TextStyle::Good,
            (0, _) => TextStyle::Notice,
            (_, _) => TextStyle::Bad,
        };
        let painted = console.paint(style, &summary);
        console.line(&painted)
    }

    /// Formats the summary: `3 charts, 1 error, 2 warnings`.
    fn summary(&self) -> String {
        let mut parts = vec![count(self.charts, "chart")];
        match (self.errors(), self.warnings()) {
            (0, 0) => parts.push("no problems found".to_owned()),
            (errors, warnings) => {
                parts.extend((errors > 0).then(|| count(errors, "error")));
                parts.extend((warnings > 0).then(|| count(warnings, "warning")));
            }
        }
        parts.join(", ")
    }

    fn print_json(&self, failed: bool, console: &mut Console) -> Result<(), CommandFailure> {
        let findings: Vec<Json> = self
            .files
            .iter()
            .flat_map(|(source, findings)| match render::to_json(findings, source) {
                Json::Array(items) => items,
                other => vec![other],
            })
            .collect();
        let document = serde_json::json!({
            "ok": !failed,
            "charts": self.charts,
            "errors": self.errors(),
            "warnings": self.warnings(),
            "findings": findings,
        });
        console.line(&serde_json::to_string_pretty(&document).unwrap_or_default())
    }
}
