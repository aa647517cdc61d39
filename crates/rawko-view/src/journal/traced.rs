//! Replays a step to find its states, transitions and reasons. The replay gives the same result, because time and world
//! come from the record.

use rawko_core::{
    CandidateOutcome, Chart, InstanceFacts, MacrostepTrace, NodeId, Now, Snapshot, TraceEntry, World,
    start_traced, step_traced,
};
use rawko_store::{Record, RecordKind};

use super::Moves;
use super::player::PlayedEvent;
use crate::document::active_paths;
use crate::explain;

/// One record between the snapshots before and after it.
pub(super) struct StepDetail<'a> {
    pub(super) chart: &'a Chart,
    pub(super) before: Option<&'a Snapshot>,
    pub(super) after: &'a Snapshot,
    pub(super) event: &'a PlayedEvent,
    pub(super) instance: &'a InstanceFacts,
}

/// Returns the moves of a step, and its story if requested.
pub(super) fn again(
    step: &StepDetail<'_>,
    record: &Record,
    world: &World,
    has_story: bool,
) -> (Moves, Vec<String>) {
    let now = Now::new(record.at_ms, world).of(step.instance);
    let trace = match (record.kind, step.before) {
        (RecordKind::Started, _) => {
            let input = serde_json::from_str(step.event.text()).unwrap_or_default();
            start_traced(step.chart, input, now).map(|(_, step)| step.trace)
        }
        (RecordKind::Forked | RecordKind::Migrated, _) => {
            let entered = active_paths(step.chart, step.after.configuration());
            return (Moves { entered, ..Moves::default() }, Vec::new());
        }
        (_, None) => return (Moves::default(), Vec::new()),
        (RecordKind::Stepped | RecordKind::Ignored | RecordKind::Failed, Some(before)) => {
            let PlayedEvent::Delivery(Ok(event)) = step.event else {
                return (Moves::default(), Vec::new());
            };
            step_traced(step.chart, &mut before.clone(), event.clone(), now).map(|step| step.trace)
        }
    };
    match trace {
        // An event that was refused before it was a step.
        Ok(_) if record.kind == RecordKind::Failed => (Moves::default(), Vec::new()),
        Ok(trace) if has_story => (moves(step.chart, &trace), explain::story(step.chart, &trace)),
        Ok(trace) => (moves(step.chart, &trace), Vec::new()),
        Err(error) if has_story => (Moves::default(), vec![format!("failed    {error}")]),
        Err(_) => (Moves::default(), Vec::new()),
    }
}

fn moves(chart: &Chart, trace: &MacrostepTrace) -> Moves {
    let mut moves = Moves::default();
    // The root is always active and is not drawn.
    let path = |node: &NodeId| Some(chart.node(*node).path.to_string()).filter(|path| !path.is_empty());
    for entry in &trace.entries {
        match entry {
            TraceEntry::Entered { node } => moves.entered.extend(path(node)),
            TraceEntry::Exited { node } => moves.left.extend(path(node)),
            TraceEntry::Candidate { transition, outcome: CandidateOutcome::Taken } => {
                moves.transitions.push(transition.0);
            }
            TraceEntry::Candidate { outcome: CandidateOutcome::Refused(_), .. }
            | TraceEntry::Considered { .. }
            | TraceEntry::Unhandled { .. }
            | TraceEntry::Acted { .. }
            | TraceEntry::Assigned { .. }
            | TraceEntry::Raised { .. }
            | TraceEntry::Failed { .. }
            | TraceEntry::Stalled { .. }
            | TraceEntry::Stale
            | TraceEntry::Retrying(_) => {}
        }
    }
    moves
}
