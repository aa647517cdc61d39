//! `TestReport`: the results of scenario files as data. Text, JSON and JUnit are all made from it.

use serde::Serialize;

/// The results of a [`Suite`](crate::Suite).
#[derive(Clone, Debug, Default, Serialize)]
pub struct TestReport {
    /// One report per scenario file, in the order of [`Suite::files`](crate::Suite::files).
    pub files: Vec<FileReport>,
    /// Coverage in the order in which files name the charts; empty after `Suite::without_coverage`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub coverage: Vec<ChartCoverage>,
}

/// The results of one scenario file.
#[derive(Clone, Debug, Serialize)]
pub struct FileReport {
    /// Path of the scenario file, without a leading `./`.
    pub file: String,
    /// Path of the chart under test; `None` if the file or its chart could not be loaded.
    pub chart: Option<String>,
    /// Why nothing in the file could be run: rendered findings, ready to print.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Scenarios that were run, in the order of the file.
    pub scenarios: Vec<ScenarioReport>,
}

/// The results of one scenario.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioReport {
    /// `name` of the scenario, as in its file.
    pub name: String,
    /// Line of the scenario in its file, from 1.
    pub line: usize,
    /// True if the scenario and all its crash and fault runs passed.
    pub passed: bool,
    /// Differences of the plain run to its expectations; empty if it met all of them.
    pub failures: Vec<StepDifference>,
    /// Expressions of the chart that failed, each once. They do not fail the scenario.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expression_faults: Vec<String>,
    /// Why the project's `governance` refused calls, each reason once. They do not fail the scenario.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused_calls: Vec<String>,
    /// Runs with a crash; `None` if they were not asked for or the scenario itself failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crashes: Option<VariantReport>,
    /// Runs with a fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faults: Option<VariantReport>,
}

/// One difference at one step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepDifference {
    /// Line of the expectation, or of the step if it could not be taken; from 1.
    pub line: usize,
    /// 0 is the start, 1 the first stimulus, as in the simulation's own report.
    pub step: usize,
    /// The stimulus before the difference: `start`, `send APPROVE`, `advance 15m`.
    pub stimulus: String,
    /// The value that differs: a key of `expect` with its path, or `step`.
    pub at: String,
    /// The expected value as JSON or in words.
    pub expected: String,
    /// The actual value as JSON or in words.
    pub actual: String,
}

/// Further runs of a scenario, each with one crash or one fault.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct VariantReport {
    /// Number of runs, without omitted ones.
    pub runs: usize,
    /// Variants left out because there are more than the limit.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted: usize,
    /// One entry per failed run, plus one per `faults` entry that matches no call.
    pub failures: Vec<VariantFailure>,
}

/// A run that did not end as it must.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariantFailure {
    /// `crash after commit 3`, ``fault: `payment` times out``.
    pub variant: String,
    /// The first difference of the run.
    #[serde(flatten)]
    pub failure: StepDifference,
}

/// The coverage of one chart, over all files.
#[derive(Clone, Debug, Serialize)]
pub struct ChartCoverage {
    /// Path of the chart's file, without a leading `./`.
    pub chart: String,
    /// `id` of the chart.
    pub id: String,
    /// Covered states and transitions together, 0 to 100, rounded down.
    pub percent: u32,
    /// Entered states. The root and history states do not count.
    pub states: ItemCoverage,
    /// Transitions that were taken at least once.
    pub transitions: ItemCoverage,
    /// Paths of the entered states, for drawings. Not part of the JSON.
    #[serde(skip)]
    pub entered: Vec<String>,
    /// Numbers of the taken transitions, as `data-transition` in a drawing. Not part of the JSON.
    #[serde(skip)]
    pub taken: Vec<u32>,
}

/// The coverage of states or transitions.
#[derive(Clone, Debug, Serialize)]
pub struct ItemCoverage {
    /// Number of items in the chart.
    pub total: usize,
    /// Number of items that at least one scenario visited.
    pub covered: usize,
    /// Names of the items that no scenario visited, in document order.
    pub missing: Vec<String>,
}

impl TestReport {
    /// Returns the scenarios of all files, in order.
    pub fn scenarios(&self) -> impl Iterator<Item = &ScenarioReport> {
        self.files.iter().flat_map(|file| &file.scenarios)
    }

    /// Returns the number of scenarios that passed.
    pub fn passed(&self) -> usize {
        self.scenarios().filter(|scenario| scenario.passed).count()
    }

    /// Returns the number of scenarios that failed; files that could not be run are not included.
    pub fn failed(&self) -> usize {
        self.scenarios().filter(|scenario| !scenario.passed).count()
    }

    /// The number of files that could not be run.
    pub fn unusable(&self) -> usize {
        self.files.iter().filter(|file| file.problem.is_some()).count()
    }

    /// Returns true if every file could be run and every scenario passed.
    pub fn is_success(&self) -> bool {
        self.failed() + self.unusable() == 0
    }

    /// The report as `rawko test --json` prints it.
    pub fn to_json(&self) -> serde_json::Value {
        let mut json = serde_json::to_value(self).unwrap_or_default();
        if let Some(object) = json.as_object_mut() {
            object.insert("passed".into(), self.passed().into());
            object.insert("failed".into(), self.failed().into());
            object.insert("unusable".into(), self.unusable().into());
        }
        json
    }
}

impl ScenarioReport {
    /// The runs with a crash and those with a fault, as far as there were any, with their nouns.
    pub(crate) fn variants(&self) -> impl Iterator<Item = (&'static str, &VariantReport)> {
        let crashes = self.crashes.iter().map(|report| ("crash", report));
        crashes.chain(self.faults.iter().map(|report| ("fault", report)))
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}
