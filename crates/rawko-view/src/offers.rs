//! Events that have an effect now, as listed by the prompt, `show` and the page.

use rawko_core::{
    CandidateOutcome, CandidateRefusal, Chart, Event, MacrostepTrace, Now, Snapshot, TraceEntry,
    TransitionId, Value, step_traced,
};

use crate::explain;

/// Event that a person can send, with the result of each of its transitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Name of the event.
    pub event: String,
    /// `→ charging`, or `[guard] → x (no: its guard is false)`.
    pub transitions: Vec<String>,
}

/// Returns the events that a stored instance accepts now. Results of running work are excluded: only the host sends
/// those.
pub fn in_snapshot(chart: &Chart, snapshot: &Snapshot, now: Now<'_>) -> Vec<Offer> {
    if snapshot.status().is_over() {
        return Vec::new();
    }
    let mut offers = Vec::new();
    for name in chart.event_names().filter(|name| is_for_people(chart, name) && !is_of_the_host(name)) {
        let event = Event::named(name, Value::Null);
        let Ok(step) = step_traced(chart, &mut snapshot.clone(), event, now) else { continue };
        let transitions = outcomes(chart, &step.trace, name);
        if !transitions.is_empty() {
            offers.push(Offer { event: name.to_owned(), transitions });
        }
    }
    offers
}

fn is_of_the_host(event: &str) -> bool {
    ["done.invoke.", "error.invoke.", "timeout.invoke.", "error.communication"]
        .iter()
        .any(|prefix| event.starts_with(prefix))
}

/// Returns false for internal events, and for completions and errors that the engine raises itself.
pub fn is_for_people(chart: &Chart, event: &str) -> bool {
    let is_internal = chart.event_spec(event).is_some_and(|spec| spec.internal);
    !is_internal && !event.starts_with("done.state.") && !event.starts_with("error.execution")
}

/// Returns the outcome of each candidate transition for the event itself, without follow-up events.
pub fn outcomes(chart: &Chart, trace: &MacrostepTrace, event: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut its_own = false;
    for entry in &trace.entries {
        match entry {
            TraceEntry::Considered { event: Some(name) } => its_own = &**name == event && words.is_empty(),
            TraceEntry::Considered { event: None } => its_own = false,
            TraceEntry::Candidate { transition, outcome } if its_own => {
                words.push(outcome_words(chart, *transition, outcome));
            }
            _ => {}
        }
    }
    words
}

/// The event is tried without data, so a guard may fail only because the data is missing.
fn outcome_words(chart: &Chart, transition: TransitionId, outcome: &CandidateOutcome) -> String {
    let does = explain::effect_words(chart, transition);
    match outcome {
        CandidateOutcome::Taken => does,
        CandidateOutcome::Refused(CandidateRefusal::GuardFailed(_)) => {
            format!("{does} (the guard needs data)")
        }
        CandidateOutcome::Refused(refusal) => {
            format!("{does} (no: {})", explain::refusal_words(chart, refusal))
        }
    }
}
