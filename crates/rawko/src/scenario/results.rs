//! What came out of running scenario files, as data; the reports (text, JSON, JUnit) all say the same thing from it.

use serde::Serialize;

/// Everything one `rawko test` found.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Results {
    pub(crate) files: Vec<FileResult>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) coverage: Vec<ChartCoverage>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct FileResult {
    pub(crate) file: String,
    pub(crate) chart: Option<String>,
    /// Why nothing in the file could be run: rendered findings, ready to print.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
    pub(crate) scenarios: Vec<ScenarioResult>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct ScenarioResult {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) passed: bool,
    pub(crate) failures: Vec<StepFailure>,
    /// Expressions of the chart that failed, each once. They do not fail the scenario.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) faults: Vec<String>,
}

/// One difference at one step.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StepFailure {
    pub(crate) line: usize,
    /// 0 is the start, 1 the first stimulus, as in the simulation's own report.
    pub(crate) step: usize,
    pub(crate) stimulus: String,
    pub(crate) at: String,
    pub(crate) expected: String,
    pub(crate) actual: String,
}

/// What the scenarios of one chart visited, all files together.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ChartCoverage {
    pub(crate) chart: String,
    pub(crate) id: String,
    pub(crate) percent: u32,
    pub(crate) states: Covered,
    pub(crate) transitions: Covered,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Covered {
    pub(crate) total: usize,
    pub(crate) covered: usize,
    /// What no scenario visited, in document order.
    pub(crate) missing: Vec<String>,
}

impl Results {
    pub(crate) fn scenarios(&self) -> impl Iterator<Item = &ScenarioResult> {
        self.files.iter().flat_map(|file| &file.scenarios)
    }

    pub(crate) fn passed(&self) -> usize {
        self.scenarios().filter(|scenario| scenario.passed).count()
    }

    pub(crate) fn failed(&self) -> usize {
        self.scenarios().filter(|scenario| !scenario.passed).count()
    }

    /// Files that could not be run at all.
    pub(crate) fn unusable(&self) -> usize {
        self.files.iter().filter(|file| file.problem.is_some()).count()
    }
}
