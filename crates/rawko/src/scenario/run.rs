//! Plays scenarios against the simulation and notes every difference.

use std::sync::Arc;

use rawko_core::Chart;
use serde_json::Value as Json;

use crate::engine::{self, Report, Session};

use super::compare::{self, Seen};
use super::coverage::Coverage;
use super::model::{Scenario, Setup, Step};
use super::results::{ScenarioResult, StepFailure};

/// Plays one scenario in a fresh instance. A scenario goes on after a difference: later ones are worth knowing too.
pub(crate) fn run(
    charts: &[Arc<Chart>],
    common: &Setup,
    scenario: &Scenario,
    coverage: &mut Coverage,
) -> Result<ScenarioResult, String> {
    let setup = common.overridden_by(&scenario.setup);
    let start = engine::start_of(&setup)?;
    let mut session = Session::new(charts, start).ok_or("there is no chart to run")?;
    let mut report = session.start();
    let mut failures = Vec::new();
    note(&report, coverage);
    check(&session, &report, &Step::start(scenario.line), 0, &mut failures);
    let mut number = 0;
    for step in &scenario.steps {
        if let Some(stimulus) = &step.stimulus {
            number += 1;
            report = session.apply(&engine::stimulus(stimulus)?);
            note(&report, coverage);
        }
        check(&session, &report, step, number, &mut failures);
    }
    Ok(ScenarioResult {
        name: scenario.name.clone(),
        line: scenario.line,
        passed: failures.is_empty(),
        failures,
    })
}

fn note(report: &Report, coverage: &mut Coverage) {
    for (chart, trace) in report.traces() {
        coverage.visit(chart, trace);
    }
}

/// What differs after a step: its expectations, and an error the simulation met, which nobody has to expect away.
fn check(session: &Session, report: &Report, step: &Step, number: usize, failures: &mut Vec<StepFailure>) {
    let failure = |line: usize, at: String, expected: String, actual: String| StepFailure {
        line,
        step: number,
        stimulus: step.label(),
        at,
        expected,
        actual,
    };
    if let (Some(error), true) = (&report.error, step.plays()) {
        failures.push(failure(step.line, "step".into(), "to be taken".into(), error.clone()));
    }
    let active = session.active_paths();
    let seen = Seen { line: &report.json, active: &active };
    for expectation in &step.expectations {
        for found in compare::differences(expectation, &seen) {
            failures.push(failure(expectation.line, found.at, found.expected, found.actual));
        }
    }
}

impl Step {
    /// The start of a scenario as a step without expectations.
    fn start(line: usize) -> Step {
        Step { line, stimulus: Some(Json::Null), expectations: Vec::new() }
    }

    fn plays(&self) -> bool {
        self.stimulus.is_some()
    }
}
