//! A trace as text: the transitions a step considered, took and rejected, with the reasons. Part of this crate because
//! the simulation, the journal and test reports all print traces, and `TraceEntry` is defined here.

use crate::chart::Chart;
use crate::ids::{NodeId, TransitionId};
use crate::step::{CandidateOutcome, CandidateRefusal, MacrostepTrace, Retrying, TraceEntry};

/// Returns the lines of one macrostep, indented under their event.
pub fn story(chart: &Chart, trace: &MacrostepTrace) -> Vec<String> {
    trace.entries.iter().flat_map(|entry| ran(chart, entry).into_iter().chain([told(chart, entry)])).collect()
}

/// An assign is shown by the keys it writes; the first one carries the label of the action.
fn ran(chart: &Chart, entry: &TraceEntry) -> Option<String> {
    let TraceEntry::Assigned { action: Some(label), .. } = entry else { return None };
    Some(format!("  ran       {}", chart.label(*label)))
}

fn told(chart: &Chart, entry: &TraceEntry) -> String {
    match entry {
        TraceEntry::Considered { event: Some(event) } => format!("event {event}"),
        TraceEntry::Considered { event: None } => "eventless transitions".to_owned(),
        TraceEntry::Candidate { transition, outcome } => candidate(chart, *transition, outcome),
        TraceEntry::Unhandled { event, deferred: false } => {
            format!("  ignored   {event}: no transition handles it")
        }
        TraceEntry::Unhandled { event, deferred: true } => {
            format!("  deferred  {event}: no transition handles it yet")
        }
        TraceEntry::Exited { node } => format!("  left      {}", node_words(chart, *node)),
        TraceEntry::Entered { node } => format!("  entered   {}", node_words(chart, *node)),
        TraceEntry::Acted { label } => format!("  ran       {}", chart.label(*label)),
        TraceEntry::Assigned { slot, value, .. } => {
            let name = chart.context_names().get(slot.index()).map_or("?", |name| name);
            format!("  assigned  {name} = {}", value.to_json())
        }
        TraceEntry::Raised { event } => format!("  raised    {event}"),
        TraceEntry::Failed { message } => format!("  failed    {message}"),
        TraceEntry::Stalled { id } => {
            format!("  stopped   nothing handles the failure of {id}; the instance waits in status error")
        }
        TraceEntry::Stale => "  stale     its timer or invoke is no longer pending".to_owned(),
        TraceEntry::Retrying(retrying) => {
            let Retrying { id, attempt, delay_ms } = &**retrying;
            format!("  retry     {id} in {delay_ms} ms (attempt {attempt} failed)")
        }
    }
}

fn candidate(chart: &Chart, transition: TransitionId, outcome: &CandidateOutcome) -> String {
    let words = transition_words(chart, transition);
    match outcome {
        CandidateOutcome::Taken => format!("  taken     {words}"),
        CandidateOutcome::Refused(refusal) => {
            format!("  not taken {words}: {}", refusal_words(chart, refusal))
        }
    }
}

/// Formats the reason of a refusal as a clause, such as `its guard is false`.
pub fn refusal_words(chart: &Chart, refusal: &CandidateRefusal) -> String {
    match refusal {
        CandidateRefusal::GuardFalse => "its guard is false".to_owned(),
        CandidateRefusal::GuardFailed(error) => format!("its guard fails: {error}"),
        CandidateRefusal::Preempted { by } => format!("{} takes precedence", transition_words(chart, *by)),
    }
}

/// Returns the path of a state; the chart's id for the root.
pub fn node_words(chart: &Chart, node: NodeId) -> String {
    let path = &chart.node(node).path;
    if path.is_empty() { chart.id().to_owned() } else { path.to_string() }
}

/// Returns `review.person: APPROVE [guard] → agreed`.
pub fn transition_words(chart: &Chart, transition: TransitionId) -> String {
    let info = chart.transition(transition);
    let effect = effect_words(chart, transition);
    let gap = if effect.is_empty() { "" } else { " " };
    format!("{}: {}{gap}{effect}", node_words(chart, info.source), info.label)
}

/// Returns `[guard] → agreed`, or `/ log` for a targetless transition.
pub fn effect_words(chart: &Chart, transition: TransitionId) -> String {
    let info = chart.transition(transition);
    let mut words = Vec::new();
    if let Some(guard) = &info.guard {
        words.push(format!("[{guard}]"));
    }
    match &info.targets {
        Some(targets) if !targets.is_empty() => {
            let targets: Vec<_> = targets.iter().map(|target| node_words(chart, *target)).collect();
            words.push(format!("→ {}", targets.join(", ")));
        }
        _ if info.actions.is_empty() => words.push("(nothing: the event is consumed)".to_owned()),
        _ => words.push(format!("/ {}", info.actions.join(", "))),
    }
    words.join(" ")
}
