//! Which events would do something now: every event an active state listens to, tried out on a copy.

use rawko_core::{Chart, Event, Outcome, Refusal, Trace, TraceEntry, TransitionId, Trigger, Value};

use crate::engine::Session;

use super::explain;

/// An event a person may send, and what each transition for it would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) event: String,
    /// `→ charging`, or `[guard] → x: its guard is false`.
    pub(crate) transitions: Vec<String>,
}

/// The events that active states listen to, innermost state first within a name's first mention in document order.
pub(crate) fn of(session: &Session) -> Vec<Choice> {
    let chart = session.chart();
    let mut choices: Vec<Choice> = Vec::new();
    for name in listened_to(session) {
        // Without data: a guard that looks at `event.data` shows what it says about none.
        let Some(trace) = session.probe(Event::named(name.as_str(), Value::Null)) else { continue };
        let transitions = outcomes(chart, &trace, &name);
        if !transitions.is_empty() {
            choices.push(Choice { event: name, transitions });
        }
    }
    choices
}

/// Names of plain events; wildcards and what the engine itself sends are no choices.
fn listened_to(session: &Session) -> Vec<String> {
    let chart = session.chart();
    let mut names = Vec::new();
    for id in chart.transition_ids() {
        let info = chart.transition(id);
        let Trigger::Event(name) = &info.trigger else { continue };
        let plain = !name.contains('*') && !name.starts_with("done.state.") && !name.starts_with("error.execution");
        if plain && session.is_active(info.source) && !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// What became of each candidate for the first event of the step.
fn outcomes(chart: &Chart, trace: &Trace, name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut ours = false;
    for entry in &trace.entries {
        match entry {
            TraceEntry::Considered { event: Some(event) } => ours = &**event == name && words.is_empty(),
            TraceEntry::Considered { event: None } => ours = false,
            TraceEntry::Candidate { transition, outcome } if ours => words.push(outcome_words(chart, *transition, outcome)),
            _ => {}
        }
    }
    words
}

fn outcome_words(chart: &Chart, transition: TransitionId, outcome: &Outcome) -> String {
    let does = explain::effect_words(chart, transition);
    match outcome {
        Outcome::Taken => does,
        Outcome::Refused(Refusal::GuardFailed(_)) => format!("{does} (the guard needs data)"),
        Outcome::Refused(refusal) => format!("{does} (no: {})", explain::refusal_words(chart, refusal)),
    }
}
