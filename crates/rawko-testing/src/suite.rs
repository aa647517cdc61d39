//! `Suite`: scenario files that were read, and how to run them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rawko_chart::render;
use rawko_core::{AgentEntry, Chart};
use rawko_sim::{Gate, SimulationOptions};

use crate::coverage::Coverage;
use crate::model::{Scenario, ScenarioFile};
use crate::plan::ScenarioPlan;
use crate::play::{Playback, ScenarioStage};
use crate::report::{FileReport, ScenarioReport, TestReport};
use crate::source::{charts_of, read_source, shown};
use crate::{TestError, crash, faults, find, read};

/// Scenario files, ready to run.
///
/// ```no_run
/// let report = rawko_testing::Suite::load("charts")?.with_crashes().with_faults().run();
/// assert!(report.is_success(), "{report}");
/// # Ok::<(), rawko_testing::TestError>(())
/// ```
pub struct Suite {
    files: Vec<LoadedFile>,
    project: Box<dyn Fn(&Path) -> ProjectContent>,
    coverage: bool,
    crashes: bool,
    faults: bool,
}

/// Charts, agents and rules that a project adds to its scenario files.
#[derive(Clone, Debug, Default)]
pub struct ProjectContent {
    /// Charts that can be invoked besides those the file names. Those of the file go first.
    pub charts: Vec<Arc<Chart>>,
    /// The `agents` binding of scenarios that name no agents.
    pub agents: Vec<AgentEntry>,
    /// Refuses calls as on a host, stubbed or not; `None` allows every call.
    pub gate: Option<Gate>,
}

struct LoadedFile {
    path: PathBuf,
    /// The scenarios, or the rendered findings.
    scenarios: Result<ScenarioFile, String>,
}

impl Suite {
    /// Reads scenario files: one file, those beside a chart, or all below a directory.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, TestError> {
        let mut files = Vec::new();
        for path in find::scenario_files(path.as_ref())? {
            let source = read_source(&path)?;
            let scenarios = read::read(&path, &source)
                .map_err(|findings| render::report(&findings, &source, render::ReportStyle::default()));
            files.push(LoadedFile { path, scenarios });
        }
        let project = Box::new(|_: &Path| ProjectContent::default());
        Ok(Self { files, project, coverage: true, crashes: false, faults: false })
    }

    /// The paths of the scenario files.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|file| file.path.as_path())
    }

    /// Adds charts, agents and a gate to each scenario file, by its path.
    #[must_use]
    pub fn with_project(mut self, project: impl Fn(&Path) -> ProjectContent + 'static) -> Self {
        self.project = Box::new(project);
        self
    }

    /// Leaves coverage out of the report.
    #[must_use]
    pub fn without_coverage(mut self) -> Self {
        self.coverage = false;
        self
    }

    /// Runs every scenario again with a crash after each commit and before each acknowledgement.
    #[must_use]
    pub fn with_crashes(mut self) -> Self {
        self.crashes = true;
        self
    }

    /// Runs every scenario again with each fault at each call.
    #[must_use]
    pub fn with_faults(mut self) -> Self {
        self.faults = true;
        self
    }

    /// Runs all scenarios.
    pub fn run(&self) -> TestReport {
        let mut coverage = Coverage::default();
        let files = self.files.iter().map(|file| self.run_file(file, &mut coverage)).collect();
        let coverage = if self.coverage { coverage.results() } else { Vec::new() };
        TestReport { files, coverage }
    }

    /// A file that cannot be run is part of the report, so that the others still run.
    fn run_file(&self, file: &LoadedFile, coverage: &mut Coverage) -> FileReport {
        let mut report =
            FileReport { file: shown(&file.path), chart: None, problem: None, scenarios: Vec::new() };
        let loaded = file.scenarios.as_ref().map_err(String::clone);
        match loaded.and_then(|scenarios| Ok((scenarios, charts_of(scenarios)?))) {
            Ok((scenarios, charts)) => self.run_scenarios(scenarios, &charts, coverage, &mut report),
            Err(problem) => report.problem = Some(problem),
        }
        report
    }

    fn run_scenarios(
        &self,
        file: &ScenarioFile,
        named: &[(String, Arc<Chart>)],
        coverage: &mut Coverage,
        report: &mut FileReport,
    ) {
        report.chart = named.first().map(|(name, _)| name.clone());
        named.iter().for_each(|(name, chart)| coverage.expect(name, chart));
        let ProjectContent { charts, agents, gate } = self.content(file, named);
        let stage =
            ScenarioStage { charts: &charts, setup: &file.setup, agents: &agents, gate: gate.as_ref() };
        for scenario in &file.scenarios {
            match self.run_scenario(&stage, file, scenario, coverage) {
                Ok(scenario) => report.scenarios.push(scenario),
                Err(problem) => report.problem = Some(format!("scenario `{}`: {problem}", scenario.name)),
            }
        }
    }

    /// The charts and agents of a file, and those that the project adds.
    fn content(&self, file: &ScenarioFile, named: &[(String, Arc<Chart>)]) -> ProjectContent {
        let ProjectContent { charts: more, agents, gate } = (self.project)(&file.path);
        let mut charts: Vec<_> = named.iter().map(|(_, chart)| Arc::clone(chart)).collect();
        for chart in more {
            let same = |known: &Arc<Chart>| known.id() == chart.id() && known.version() == chart.version();
            if !charts.iter().any(same) {
                charts.push(chart);
            }
        }
        ProjectContent { charts, agents, gate }
    }

    /// All scenarios as data, for playing them on another driver.
    pub fn plans(&self) -> Result<Vec<ScenarioPlan>, TestError> {
        let mut plans = Vec::new();
        for file in &self.files {
            let wrong = |problem| TestError::Content { name: shown(&file.path), problem };
            let scenarios = file.scenarios.as_ref().map_err(|problem| wrong(problem.clone()))?;
            let named = charts_of(scenarios).map_err(wrong)?;
            let ProjectContent { charts, agents, gate } = self.content(scenarios, &named);
            let (setup, gate) = (&scenarios.setup, gate.as_ref());
            let stage = ScenarioStage { charts: &charts, setup, agents: &agents, gate };
            for scenario in &scenarios.scenarios {
                plans.push(ScenarioPlan::of(&stage, scenario, file.path.clone()).map_err(wrong)?);
            }
        }
        Ok(plans)
    }

    fn run_scenario(
        &self,
        stage: &ScenarioStage<'_>,
        file: &ScenarioFile,
        scenario: &Scenario,
        coverage: &mut Coverage,
    ) -> Result<ScenarioReport, String> {
        let playback = Playback::of(stage, scenario, SimulationOptions::default())?;
        for step in playback.lines.iter().flat_map(|played| &played.line.traces) {
            coverage.visit(&step.chart, &step.trace);
        }
        let failures = playback.failures(scenario);
        // Variants are judged by the plain run, so there is nothing to judge by when that fails.
        let passed = failures.is_empty();
        let crashes = (self.crashes && passed).then(|| crash::run(stage, scenario, &playback)).transpose()?;
        let faults = (self.faults && passed)
            .then(|| faults::run(stage, scenario, &file.faults, &playback))
            .transpose()?;
        let variants_passed =
            [&crashes, &faults].into_iter().flatten().all(|report| report.failures.is_empty());
        Ok(ScenarioReport {
            name: scenario.name.clone(),
            line: scenario.line,
            passed: passed && variants_passed,
            failures,
            expression_faults: playback.expression_faults(),
            refused_calls: playback.refused_calls(),
            crashes,
            faults,
        })
    }
}
