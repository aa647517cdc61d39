//! Chart files and scenarios of the served project: written by the operator from the page, trusted like files that the
//! person wrote, and run as `rawko test` does.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use rawko_server::{
    ChartCoverage, ChartFile, ChartOrigin, ChartTests, ErrorResponse, NewScenario, ProblemCode, SaveChart,
    ScenarioResult,
};
use rawko_testing::{Suite, TestReport};

use super::replacing::replace;
use super::{ServedProject, problem, scenario_text, uploads};
use crate::scenario::project_content;
use crate::{files, trust};

/// Directory of the project's charts.
const CHARTS: &str = ".rawko/charts";

impl ServedProject {
    pub(super) fn write_chart(&self, chart: &SaveChart) -> Result<String, ErrorResponse> {
        let path = match &chart.file {
            Some(name) => self.inside(Path::new(name))?,
            None => self.new_file(&chart.id)?,
        };
        if let Some(before) = &chart.before {
            let now = fs::read_to_string(&path).map_err(|error| cannot("read", &path, &error))?;
            if now != *before {
                let detail = format!("`{}` changed on disk; reload it, then save again", files::shown(&path));
                return Err(ErrorResponse::new(ProblemCode::Changed, detail));
            }
        }
        self.write(&path, &chart.text)?;
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        origins.insert((chart.id.clone(), chart.version.clone()), ChartOrigin::Project);
        Ok(files::shown(&path))
    }

    /// Adds a scenario, and takes it back if it does not pass.
    pub(super) fn write_scenario(&self, scenario: &NewScenario) -> Result<ChartTests, ErrorResponse> {
        let chart = self.path_of(&scenario.chart)?;
        let path = scenario_file(&chart);
        let before = fs::read_to_string(&path).ok();
        let text = match &before {
            None => {
                let name = chart.file_name().unwrap_or_default().to_string_lossy();
                scenario_text::new_file(&name, scenario)
            }
            Some(before) => scenario_text::with_another(before, scenario).ok_or_else(|| {
                let help = "write its `scenarios` as a list with one `- name:` a line";
                let detail = format!("cannot add to `{}`: {help}", files::shown(&path));
                ErrorResponse::new(ProblemCode::NotPossible, detail)
            })?,
        };
        self.write(&path, &text)?;
        let tests = self.run_tests(&scenario.chart);
        let passes = |tests: &ChartTests| {
            let file = files::shown(&path);
            tests.scenarios.iter().any(|it| it.name == scenario.name && it.file == file && it.passed)
        };
        match tests {
            Ok(tests) if passes(&tests) => Ok(tests),
            other => {
                match &before {
                    Some(before) => self.write(&path, before)?,
                    None => fs::remove_file(&path).map_err(|error| cannot("remove", &path, &error))?,
                }
                let tests = other?;
                let failure = tests.scenarios.iter().find(|it| it.name == scenario.name && !it.passed);
                let why = failure.and_then(|it| it.failures.first()).or(tests.problems.first());
                let why = why.map_or("it was not found in its file", String::as_str);
                Err(ErrorResponse::new(
                    ProblemCode::NotPossible,
                    format!("the scenario does not pass: {why}"),
                ))
            }
        }
    }

    pub(super) fn run_tests(&self, chart: &ChartFile) -> Result<ChartTests, ErrorResponse> {
        let path = self.path_of(chart)?;
        let Ok(suite) = Suite::load(&path) else { return Ok(ChartTests::default()) };
        let mut contents = BTreeMap::new();
        for file in suite.files() {
            contents.insert(file.to_owned(), project_content(file).map_err(problem)?);
        }
        let report = suite.with_project(move |path| contents.get(path).cloned().unwrap_or_default()).run();
        Ok(results(&report, &chart.id))
    }

    /// Returns the file of a chart of the project.
    fn path_of(&self, chart: &ChartFile) -> Result<PathBuf, ErrorResponse> {
        let key = (chart.id.clone(), chart.version.clone());
        let origin = self.origins.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
        match origin {
            Some(ChartOrigin::Project) => self.inside(Path::new(&chart.name)),
            Some(ChartOrigin::Uploaded) => {
                self.inside(&uploads::place(&self.root, &chart.id, &chart.version))
            }
            Some(ChartOrigin::BuiltIn | ChartOrigin::Stored) | None => {
                let detail = format!("chart `{}` has no file in the project; save it first", chart.id);
                Err(ErrorResponse::new(ProblemCode::NotPossible, detail))
            }
        }
    }

    /// Returns the path of an existing file, which must be in the project.
    fn inside(&self, path: &Path) -> Result<PathBuf, ErrorResponse> {
        let real = path.canonicalize().map_err(|error| cannot("open", path, &error))?;
        let root = self.root.canonicalize().map_err(|error| cannot("open", &self.root, &error))?;
        let Ok(relative) = real.strip_prefix(&root) else {
            let detail = format!("`{}` is not in the project", files::shown(path));
            return Err(ErrorResponse::new(ProblemCode::NotPossible, detail));
        };
        Ok(self.root.join(relative))
    }

    /// Returns the path of a new chart. Ids come from the author, so they are sanitised to stay inside the folder.
    fn new_file(&self, id: &str) -> Result<PathBuf, ErrorResponse> {
        let folder = self.root.join(CHARTS);
        fs::create_dir_all(&folder).map_err(|error| cannot("create", &folder, &error))?;
        let path = self.inside(&folder)?.join(format!("{}.yaml", uploads::plain(id)));
        match path.symlink_metadata() {
            Err(_) => Ok(path),
            Ok(_) => {
                let detail = format!("`{}` exists; open that chart, or change `id`", files::shown(&path));
                Err(ErrorResponse::new(ProblemCode::Exists, detail))
            }
        }
    }

    /// Replaces a file atomically, then trusts it: the operator wrote it.
    fn write(&self, path: &Path, text: &str) -> Result<(), ErrorResponse> {
        let failed = |error: std::io::Error| cannot("write", path, &error);
        replace(path, text).map_err(failed)?;
        let relative = path.strip_prefix(&self.root).unwrap_or(path);
        trust::trust_saved(&self.root, relative, text).map_err(problem)
    }
}

/// Returns the scenario file of a chart: the one that is there, else `NAME.scenario.yaml`.
fn scenario_file(chart: &Path) -> PathBuf {
    let beside = |ending: &str| chart.with_extension(format!("scenario.{ending}"));
    ["yaml", "yml", "json"].map(beside).into_iter().find(|file| file.is_file()).unwrap_or(beside("yaml"))
}

fn results(report: &TestReport, id: &str) -> ChartTests {
    let mut tests = ChartTests::default();
    for file in &report.files {
        tests.problems.extend(file.problem.clone());
        tests.scenarios.extend(file.scenarios.iter().map(|scenario| {
            ScenarioResult {
                file: file.file.clone(),
                line: scenario.line,
                name: scenario.name.clone(),
                passed: scenario.passed,
                failures: scenario
                    .failures
                    .iter()
                    .map(|it| {
                        format!("after {}: {} is {}, expected {}", it.stimulus, it.at, it.actual, it.expected)
                    })
                    .collect(),
            }
        }));
    }
    let coverage = report.coverage.iter().find(|it| it.id == id);
    tests.coverage = coverage.map(|it| ChartCoverage {
        percent: it.percent,
        states: it.states.total,
        states_covered: it.states.covered,
        transitions: it.transitions.total,
        transitions_covered: it.transitions.covered,
        entered: it.entered.iter().filter(|path| !path.is_empty()).cloned().collect(),
        taken: it.taken.clone(),
    });
    tests
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> ErrorResponse {
    ErrorResponse::new(ProblemCode::NotPossible, format!("cannot {what} `{}`: {error}", files::shown(path)))
}
