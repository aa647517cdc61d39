//! Requests that change or test the chart files of a project, and their results. Separate from the trait that carries them
//! out, and from the routes.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A chart to write to a file of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveChart {
    /// Id and version of the chart in the text.
    pub id: String,
    /// Version of the chart in the text.
    pub version: String,
    /// Name of its file, as its edition has it; `None` for a new file.
    pub file: Option<String>,
    /// Chart text to write.
    pub text: String,
    /// Content that the file must have; anything if `None`.
    pub before: Option<String>,
}

/// The chart file that scenarios belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartFile {
    /// Chart id.
    pub id: String,
    /// Chart version.
    pub version: String,
    /// Name of the file, as its edition has it.
    pub name: String,
}

/// A scenario to add to the scenario file of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct NewScenario {
    /// Chart that the scenario runs.
    pub chart: ChartFile,
    /// Scenario name, unique within its file.
    pub name: String,
    /// Input of the instance.
    pub input: Value,
    /// Stubbed answers of services.
    pub services: Value,
    /// Steps as in a scenario file: `send`, `data`, `advance`, `expect`.
    pub steps: Vec<Value>,
}

/// Results of the scenarios of a chart, as `rawko test` reports them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct ChartTests {
    /// Results in the order of the files.
    pub scenarios: Vec<ScenarioResult>,
    /// Files that cannot be used, with the reason.
    pub problems: Vec<String>,
    /// `null` without scenarios.
    pub coverage: Option<ChartCoverage>,
}

/// The result of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ScenarioResult {
    /// Scenario file.
    pub file: String,
    /// Line of the scenario in the file, from 1.
    pub line: usize,
    /// Scenario name.
    pub name: String,
    /// True if every expectation held.
    pub passed: bool,
    /// Differences, in words.
    pub failures: Vec<String>,
}

/// States and transitions that scenarios visit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ChartCoverage {
    /// Of states and transitions together, rounded down.
    pub percent: u32,
    /// State nodes of the chart.
    pub states: usize,
    /// State nodes that a scenario entered.
    pub states_covered: usize,
    /// Transitions of the chart.
    pub transitions: usize,
    /// Transitions that a scenario took.
    pub transitions_covered: usize,
    /// Paths of entered states.
    pub entered: Vec<String>,
    /// Taken transitions, numbered as `data-transition` in the drawing.
    pub taken: Vec<u32>,
}
