//! Plays scenarios against the simulation and notes every difference.

use std::sync::Arc;

use rawko_core::Chart;

use crate::engine::{self, Report, Session};
use crate::project::Project;

use super::compare::{self, Seen};
use super::coverage::Coverage;
use super::model::{Scenario, Setup, Step};
use super::results::{ScenarioResult, StepFailure};

/// What all scenarios of a file have in common.
pub(crate) struct Stage<'a> {
    /// The chart under test first.
    pub(crate) charts: &'a [Arc<Chart>],
    pub(crate) setup: &'a Setup,
    pub(crate) project: Option<&'a Project>,
}

/// Plays one scenario in a fresh instance. A scenario goes on after a difference: later ones are worth knowing too.
pub(crate) fn run(
    stage: &Stage<'_>,
    scenario: &Scenario,
    coverage: &mut Coverage,
) -> Result<ScenarioResult, String> {
    let setup = stage.setup.overridden_by(&scenario.setup);
    let start = engine::start_of(&setup, stage.project)?;
    let mut session = Session::new(stage.charts, start).ok_or("there is no chart to run")?;
    let mut report = session.start();
    let mut failures = Vec::new();
    let mut faults = Vec::new();
    note(&report, coverage);
    add_faults(&report, &mut faults);
    let mut place = Place { step: 0, stimulus: "start".to_owned() };
    stumbled(&report, scenario.line, &place, &mut failures);
    for step in &scenario.steps {
        if let Some(stimulus) = &step.stimulus {
            place = Place { step: place.step + 1, stimulus: step.label() };
            report = session.apply(&engine::stimulus(stimulus)?);
            note(&report, coverage);
            add_faults(&report, &mut faults);
            stumbled(&report, step.line, &place, &mut failures);
        }
        compare(&session, &report, step, &place, &mut failures);
    }
    Ok(ScenarioResult {
        name: scenario.name.clone(),
        line: scenario.line,
        passed: failures.is_empty(),
        failures,
        faults,
    })
}

fn note(report: &Report, coverage: &mut Coverage) {
    for (chart, trace) in report.traces() {
        coverage.visit(chart, trace);
    }
}

fn add_faults(report: &Report, faults: &mut Vec<String>) {
    for fault in report.faults().iter().map(ToString::to_string) {
        if !faults.contains(&fault) {
            faults.push(fault);
        }
    }
}

/// The stimulus that was played last. A step without one looks at what that left behind.
struct Place {
    step: usize,
    stimulus: String,
}

impl Place {
    fn failure(&self, line: usize, at: &str, expected: &str, actual: &str) -> StepFailure {
        StepFailure {
            line,
            step: self.step,
            stimulus: self.stimulus.clone(),
            at: at.to_owned(),
            expected: expected.to_owned(),
            actual: actual.to_owned(),
        }
    }
}

/// A step that could not be taken fails its scenario, whatever is expected of it.
fn stumbled(report: &Report, line: usize, place: &Place, failures: &mut Vec<StepFailure>) {
    if let Some(error) = &report.error {
        failures.push(place.failure(line, "step", "can be taken", error));
    }
}

fn compare(session: &Session, report: &Report, step: &Step, place: &Place, failures: &mut Vec<StepFailure>) {
    let active = session.active_paths();
    let seen = Seen { line: &report.json, active: &active };
    for expectation in &step.expectations {
        for path in expectation.states().filter(|path| session.chart().find(path).is_none()) {
            let actual = format!("there is no state `{path}` in the chart");
            failures.push(place.failure(expectation.line, "configuration", "a state of the chart", &actual));
        }
        for found in compare::differences(expectation, &seen) {
            failures.push(place.failure(expectation.line, &found.at, &found.expected, &found.actual));
        }
    }
}
