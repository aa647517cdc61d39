//! `--faults`: repeats a scenario with a fault at every call. The scenario file may declare the expected result;
//! otherwise the instance must not stall, run away or hide the failure.

use rawko_sim::{CallPoint, ErrorKind, InjectedFault, InjectedFaultKind, SimulationOptions, Stimulus};
use serde_json::Value as Json;

use crate::compare::{self, StepObservation};
use crate::crash::{first_difference, runs_max};
use crate::health;
use crate::model::{Expectation, Scenario};
use crate::model_faults::{FaultExpectation, FaultOutcome, expectation_for};
use crate::play::{Playback, ScenarioStage};
use crate::report::{StepDifference, VariantFailure, VariantReport};

/// Timers and answers that a run waits for after its last stimulus. A chart that polls or retries for ever, with time
/// between, is not a runaway.
const FIRINGS_MAX: usize = 1_000;
const AFTER_ALL_STEPS: &str = "all steps";

/// Plays the scenario once for each call and each fault that can happen to it.
pub(crate) fn run(
    stage: &ScenarioStage<'_>,
    scenario: &Scenario,
    of_file: &[FaultExpectation],
    baseline: &Playback,
) -> Result<VariantReport, String> {
    let mut report = VariantReport::default();
    let runs_max = runs_max(baseline.simulation.commit_points().len());
    let calls = baseline.simulation.call_points();
    report.failures.extend(unused(scenario, &calls, baseline));
    let settled = settled(Playback::of(stage, scenario, SimulationOptions::default())?, scenario);
    for (call, kind) in calls.iter().flat_map(|call| kinds(call, &calls)) {
        let expectation = expectation_for(&scenario.faults, of_file, call, kind);
        let outcome = expectation.map(|expectation| &expectation.outcome);
        if matches!(outcome, Some(FaultOutcome::Skip)) {
            continue;
        }
        if report.runs == runs_max {
            report.omitted += 1;
            continue;
        }
        let faults = vec![InjectedFault { call: call.number, kind }];
        let options = SimulationOptions { faults, ..SimulationOptions::default() };
        let playback = settled_run(stage, scenario, options)?;
        report.runs += 1;
        if let Some(failure) = judge(&playback, baseline, &settled, kind, outcome) {
            report.failures.push(VariantFailure { variant: words(call, kind, &calls), failure });
        }
    }
    Ok(report)
}

/// The faults to try at a call. An outage is tried once per invoke.
fn kinds<'a>(
    call: &'a CallPoint,
    calls: &'a [CallPoint],
) -> impl Iterator<Item = (&'a CallPoint, InjectedFaultKind)> {
    let is_first = calls.iter().find(|other| is_same_invoke(other, call)) == Some(call);
    let tried = move |kind: &&InjectedFaultKind| is_first || **kind != InjectedFaultKind::Outage;
    call.kinds.iter().filter(tried).map(move |kind| (call, *kind))
}

fn is_same_invoke(a: &CallPoint, b: &CallPoint) -> bool {
    a.chart == b.chart && a.id == b.id
}

/// Entries of the scenario that name no call: they would never be checked.
fn unused<'a>(
    scenario: &'a Scenario,
    calls: &'a [CallPoint],
    baseline: &'a Playback,
) -> impl Iterator<Item = VariantFailure> {
    let unused = scenario.faults.iter().filter(|entry| !calls.iter().any(|call| entry.names(call)));
    unused.filter_map(|entry| {
        let mut names: Vec<_> = calls.iter().map(|call| format!("`{}`", call.id)).collect();
        names.dedup();
        let actual = if names.is_empty() {
            "the scenario makes no calls".to_owned()
        } else {
            format!("calls are {}", names.join(", "))
        };
        let place = &baseline.lines.last()?.place;
        let at = format!("faults.{}", entry.invoke);
        let failure = place.failure_at(entry.line, &at, "the id or `src` of a call", &actual);
        Some(VariantFailure { variant: "fault expectation without a call".to_owned(), failure })
    })
}

fn settled_run(
    stage: &ScenarioStage<'_>,
    scenario: &Scenario,
    options: SimulationOptions,
) -> Result<Playback, String> {
    Ok(settled(Playback::of(stage, scenario, options)?, scenario))
}

/// Lets time pass until nothing is due.
fn settled(mut playback: Playback, scenario: &Scenario) -> Playback {
    for _ in 0..FIRINGS_MAX {
        let ended = playback.simulation.snapshot().is_none_or(|snapshot| snapshot.status().is_over());
        let ran_away =
            playback.lines.last().is_some_and(|played| played.line.error_kind == Some(ErrorKind::Runaway));
        if ended || ran_away {
            break;
        }
        let Some(ms) = playback.simulation.next_due_in_ms() else { break };
        playback.apply(&Stimulus::advance(ms), scenario.line, AFTER_ALL_STEPS.to_owned());
    }
    playback
}

/// The first thing that is wrong with a run under a fault.
fn judge(
    playback: &Playback,
    baseline: &Playback,
    settled: &Playback,
    kind: InjectedFaultKind,
    outcome: Option<&FaultOutcome>,
) -> Option<StepDifference> {
    match (outcome, kind) {
        (Some(FaultOutcome::Same), _) | (None, InjectedFaultKind::Duplicate) => {
            first_difference(baseline, playback)
        }
        (Some(FaultOutcome::Skip), _) => None,
        (Some(FaultOutcome::Expect(expectations)), _) => {
            step_error(playback).or_else(|| final_difference(playback, expectations))
        }
        (None, _) => step_error(playback)
            .or_else(|| health::stall(playback).filter(|_| health::stall(settled).is_none()))
            .or_else(|| health::hidden_failure(playback, settled)),
    }
}

/// A step that could not be taken, or an endless number of steps.
fn step_error(playback: &Playback) -> Option<StepDifference> {
    playback.lines.iter().find_map(|played| {
        let error = played.line.error.as_ref()?;
        match played.line.error_kind {
            // After a fault the later stimuli need not fit any more.
            Some(ErrorKind::Unhandled) => None,
            Some(ErrorKind::Runaway) => Some(played.place.failure("step", "no runaway", error)),
            Some(ErrorKind::Other) | None => Some(played.place.failure("step", "can be taken", error)),
        }
    })
}

/// Compares the end of a run with the expectations under the fault. Lists are those of the whole run.
fn final_difference(playback: &Playback, expectations: &[Expectation]) -> Option<StepDifference> {
    let last = playback.lines.last()?;
    let mut whole = last.json.clone();
    for list in ["log", "emitted", "sent", "invoked", "stopped"] {
        let entries = playback.lines.iter().filter_map(|played| played.json.get(list)?.as_array());
        whole[list] = entries.flatten().cloned().collect::<Vec<Json>>().into();
    }
    let observation = StepObservation { line: &whole, active: &last.active };
    expectations.iter().find_map(|expectation| {
        let found = compare::differences(expectation, &observation).into_iter().next()?;
        Some(last.place.failure_at(expectation.line, &found.at, &found.expected, &found.actual))
    })
}

/// ``fault: `payment` times out``, with the number of the call where there are several.
fn words(call: &CallPoint, kind: InjectedFaultKind, calls: &[CallPoint]) -> String {
    let does = match kind {
        InjectedFaultKind::Failure => "fails",
        InjectedFaultKind::Outage => "always fails",
        InjectedFaultKind::Timeout => "times out",
        InjectedFaultKind::Interruption => "is interrupted",
        InjectedFaultKind::Duplicate => "answers twice",
        InjectedFaultKind::Late => "answers late",
    };
    let same: Vec<_> = calls.iter().filter(|other| is_same_invoke(other, call)).collect();
    let position = same.iter().position(|other| *other == call).unwrap_or_default() + 1;
    let mut words = format!("fault: `{}` {does}", call.id);
    if call.instance > 0 {
        words = format!("fault: `{}` of `{}` {does}", call.id, call.chart);
    }
    if same.len() > 1 && kind != InjectedFaultKind::Outage {
        words += &format!(" (call {position})");
    }
    words
}
