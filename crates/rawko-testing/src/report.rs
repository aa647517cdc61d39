//! `TestReport`: the results of scenario files as data. Text, JSON and JUnit are all made from it.

use serde::Serialize;

/// The results of a [`Suite`](crate::Suite).
#[derive(Clone, Debug, Default, Serialize)]
pub struct TestReport {
    pub files: Vec<FileReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub coverage: Vec<ChartCoverage>,
}

/// The results of one scenario file.
#[derive(Clone, Debug, Serialize)]
pub struct FileReport {
    pub file: String,
    pub chart: Option<String>,
    /// Why nothing in the file could be run: rendered findings, ready to print.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    pub scenarios: Vec<ScenarioReport>,
}

/// The results of one scenario.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioReport {
    pub name: String,
    pub line: usize,
    /// True if the scenario and all its crash and fault runs passed.
    pub passed: bool,
    pub failures: Vec<StepFailure>,
    /// Expressions of the chart that failed, each once. They do not fail the scenario.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expression_faults: Vec<String>,
    /// Runs with a crash; `None` if they were not asked for or the scenario itself failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crashes: Option<VariantReport>,
    /// Runs with a fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faults: Option<VariantReport>,
}

/// One difference at one step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepFailure {
    pub line: usize,
    /// 0 is the start, 1 the first stimulus, as in the simulation's own report.
    pub step: usize,
    pub stimulus: String,
    pub at: String,
    pub expected: String,
    pub actual: String,
}

/// Further runs of a scenario, each with one crash or one fault.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct VariantReport {
    pub runs: usize,
    /// Variants left out because there are more than the limit.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted: usize,
    pub failures: Vec<VariantFailure>,
}

/// A run that did not end as it must.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariantFailure {
    /// `crash after commit 3`, ``fault: `payment` times out``.
    pub variant: String,
    #[serde(flatten)]
    pub failure: StepFailure,
}

/// The coverage of one chart, over all files.
#[derive(Clone, Debug, Serialize)]
pub struct ChartCoverage {
    pub chart: String,
    pub id: String,
    pub percent: u32,
    pub states: ItemCoverage,
    pub transitions: ItemCoverage,
}

/// The coverage of states or transitions.
#[derive(Clone, Debug, Serialize)]
pub struct ItemCoverage {
    pub total: usize,
    pub covered: usize,
    /// Names of the items that no scenario visited, in document order.
    pub missing: Vec<String>,
}

impl TestReport {
    pub fn scenarios(&self) -> impl Iterator<Item = &ScenarioReport> {
        self.files.iter().flat_map(|file| &file.scenarios)
    }

    pub fn passed(&self) -> usize {
        self.scenarios().filter(|scenario| scenario.passed).count()
    }

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
