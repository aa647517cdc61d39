//! Default checks of a run without expectations in the scenario: no stall, no hidden failure.

use rawko_core::{
    CandidateOutcome, Chart, FailedWork, MacrostepTrace, Status, TraceEntry, TransitionId, explain,
};

use crate::play::{Playback, PlayedLine};
use crate::report::StepDifference;

/// A run that nothing can move any more, though it has not ended.
pub(crate) fn stall(playback: &Playback) -> Option<StepDifference> {
    let simulation = &playback.simulation;
    let snapshot = simulation.snapshot()?;
    let last = playback.lines.last()?;
    let states = last.line.configuration.join(", ");
    let failure = |actual: &str| Some(last.place.failure("status", "no stall", actual));
    match snapshot.status() {
        Status::Done | Status::Cancelled => None,
        Status::Error => {
            let failed =
                snapshot.failure().filter(|failure| !matches!(failure.work, FailedWork::Timer { .. }));
            let id =
                failed.map_or_else(|| "?".to_owned(), |failure| simulation.chart().failure_name(failure));
            failure(&format!("stalled in [{states}]: nothing handles the failure of `{id}`"))
        }
        Status::Active => {
            let waits = simulation.next_due_ms().is_some() || snapshot.pending().next().is_some();
            let takes_events = simulation.choices().iter().any(|choice| is_from_outside(&choice.event));
            let stuck = !waits && !takes_events;
            stuck
                .then(|| failure(&format!("stuck in [{states}]: no timer, call or event can move it")))
                .flatten()
        }
    }
}

/// Events that the engine raises itself cannot arrive from outside.
fn is_from_outside(event: &str) -> bool {
    !["done.", "error.", "timeout."].iter().any(|prefix| event.starts_with(prefix))
}

/// Finds a failure that the run without the fault does not have, and that has no visible effect.
pub(crate) fn hidden_failure(playback: &Playback, settled: &Playback) -> Option<StepDifference> {
    let known: Vec<_> = settled.lines.iter().flat_map(hidden).map(|(_, actual)| actual).collect();
    playback.lines.iter().find_map(|played| {
        let (at, actual) = hidden(played).into_iter().find(|(_, actual)| !known.contains(actual))?;
        Some(played.place.failure(&at, "no silent failure", &actual))
    })
}

/// The hidden failures of one line: the event, and what became of it.
fn hidden(played: &PlayedLine) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for step in &played.line.traces {
        found.extend(unhandled_execution_error(&step.trace));
        found.extend(swallowed_failure(&step.chart, &step.trace));
    }
    found
}

/// An action or a guard failed, and no transition took `error.execution`.
fn unhandled_execution_error(trace: &MacrostepTrace) -> Option<(String, String)> {
    const EVENT: &str = "error.execution";
    let failed = trace.entries.iter().find_map(|entry| match entry {
        TraceEntry::Failed { message } => Some(message),
        _ => None,
    })?;
    let handled = taken(trace).any(|(event, _)| event == EVENT);
    (!handled).then(|| (EVENT.to_owned(), format!("nothing handles it: {failed}")))
}

/// The failure of an invoke was consumed by a transition that does nothing.
fn swallowed_failure(chart: &Chart, trace: &MacrostepTrace) -> Option<(String, String)> {
    let (event, transition) = taken(trace).find(|(event, transition)| {
        let info = chart.transition(*transition);
        let failed = event.starts_with("error.invoke.") || event.starts_with("timeout.invoke.");
        let moves = info.targets.as_ref().is_some_and(|targets| !targets.is_empty());
        failed && !moves && info.actions.is_empty()
    })?;
    let words = explain::transition_words(chart, transition);
    Some((event.to_owned(), format!("consumed without any effect by `{words}`")))
}

/// The transitions that a step took, each with the event that it took.
fn taken(trace: &MacrostepTrace) -> impl Iterator<Item = (&str, TransitionId)> {
    let mut event: Option<&str> = None;
    trace.entries.iter().filter_map(move |entry| match entry {
        TraceEntry::Considered { event: considered } => {
            event = considered.as_deref();
            None
        }
        TraceEntry::Candidate { transition, outcome: CandidateOutcome::Taken } => {
            event.map(|event| (event, *transition))
        }
        _ => None,
    })
}
