//! `Playback`: one run of a scenario's stimuli in a fresh simulation, and its differences to the expectations.

use std::path::PathBuf;
use std::sync::Arc;

use rawko_core::{AgentEntry, Chart};
use rawko_sim::{Gate, ReportLine, Simulation, SimulationOptions, Stimulus};
use serde_json::Value as Json;

use crate::compare::{self, StepObservation};
use crate::model::{Scenario, ScenarioSetup, ScenarioStep};
use crate::plan::ScenarioPlan;
use crate::report::StepDifference;

/// Data shared by all scenarios of a file.
pub(crate) struct ScenarioStage<'a> {
    /// The chart under test first.
    pub(crate) charts: &'a [Arc<Chart>],
    pub(crate) setup: &'a ScenarioSetup,
    /// The agents of scenarios that name none.
    pub(crate) agents: &'a [AgentEntry],
    /// The gate of the project.
    pub(crate) gate: Option<&'a Gate>,
}

/// One run of a scenario.
pub(crate) struct Playback {
    pub(crate) simulation: Simulation,
    /// The start first, then one per stimulus.
    pub(crate) lines: Vec<PlayedLine>,
}

/// One report line of a run.
pub(crate) struct PlayedLine {
    pub(crate) line: ReportLine,
    pub(crate) json: Json,
    /// Every active state, ancestors too.
    pub(crate) active: Vec<String>,
    pub(crate) place: LinePlace,
}

/// The stimulus of a line and its place in the scenario file.
#[derive(Clone)]
pub(crate) struct LinePlace {
    pub(crate) line: usize,
    step: usize,
    stimulus: String,
}

impl Playback {
    /// Plays all stimuli of a scenario.
    pub(crate) fn of(
        stage: &ScenarioStage<'_>,
        scenario: &Scenario,
        options: SimulationOptions,
    ) -> Result<Self, String> {
        let plan = ScenarioPlan::of(stage, scenario, PathBuf::new())?;
        let simulation = plan.simulation()?.with_options(options);
        let mut playback = Self { simulation, lines: Vec::new() };
        let line = playback.simulation.start();
        playback.push(line, LinePlace { line: scenario.line, step: 0, stimulus: "start".to_owned() });
        let steps = scenario.steps.iter().filter(|step| step.stimulus.is_some());
        for (step, stimulus) in steps.zip(&plan.stimuli) {
            playback.apply(stimulus, step.line, step.label());
        }
        Ok(playback)
    }

    pub(crate) fn apply(&mut self, stimulus: &Stimulus, line: usize, label: String) {
        let place = LinePlace { line, step: self.lines.len(), stimulus: label };
        let line = self.simulation.apply(stimulus);
        self.push(line, place);
    }

    fn push(&mut self, line: ReportLine, place: LinePlace) {
        let active = self.simulation.active_paths();
        self.lines.push(PlayedLine { json: line.to_json(), line, active, place });
    }

    /// Expressions of the chart that failed, each once.
    pub(crate) fn expression_faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for fault in self.lines.iter().flat_map(|played| &played.line.faults).map(ToString::to_string) {
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
        faults
    }

    /// Why the gate refused calls, each reason once.
    pub(crate) fn refused_calls(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        for reason in self.lines.iter().flat_map(|played| &played.line.denied) {
            if !reasons.contains(reason) {
                reasons.push(reason.clone());
            }
        }
        reasons
    }

    /// The differences to the scenario's expectations. Later ones are reported too.
    pub(crate) fn failures(&self, scenario: &Scenario) -> Vec<StepDifference> {
        let mut failures = Vec::new();
        let mut lines = self.lines.iter();
        let Some(mut played) = lines.next() else { return failures };
        failures.extend(played.step_error());
        for step in &scenario.steps {
            if step.stimulus.is_some()
                && let Some(next) = lines.next()
            {
                played = next;
                failures.extend(played.step_error());
            }
            self.compare(played, step, &mut failures);
        }
        failures
    }

    fn compare(&self, played: &PlayedLine, step: &ScenarioStep, failures: &mut Vec<StepDifference>) {
        let observation = StepObservation { line: &played.json, active: &played.active };
        for expectation in &step.expectations {
            let place = &played.place;
            for path in expectation.states().filter(|path| self.simulation.chart().find(path).is_none()) {
                let actual = format!("there is no state `{path}` in the chart");
                let failure =
                    place.failure_at(expectation.line, "configuration", "a state of the chart", &actual);
                failures.push(failure);
            }
            for found in compare::differences(expectation, &observation) {
                failures.push(place.failure_at(expectation.line, &found.at, &found.expected, &found.actual));
            }
        }
    }
}

impl PlayedLine {
    /// Returns the failure of a step that could not be taken; it fails the scenario regardless of expectations.
    fn step_error(&self) -> Option<StepDifference> {
        let error = self.line.error.as_ref()?;
        Some(self.place.failure("step", "can be taken", error))
    }
}

impl LinePlace {
    pub(crate) fn failure(&self, at: &str, expected: &str, actual: &str) -> StepDifference {
        self.failure_at(self.line, at, expected, actual)
    }

    pub(crate) fn failure_at(&self, line: usize, at: &str, expected: &str, actual: &str) -> StepDifference {
        StepDifference {
            line,
            step: self.step,
            stimulus: self.stimulus.clone(),
            at: at.to_owned(),
            expected: expected.to_owned(),
            actual: actual.to_owned(),
        }
    }
}
