//! Transitions that can never be taken: after an unconditional one for the same event, or in a state that an eventless
//! transition leaves immediately.

use rawko_core::{NodeId, TransitionTrigger};

use super::index::{ChartIndex, TransitionEdge};
use crate::codes::UNREACHABLE_TRANSITION;
use crate::finding::Finding;

pub(crate) fn analyse(index: &ChartIndex<'_>, findings: &mut Vec<Finding>) {
    for id in index.ids() {
        let edges = index.edges_of(id);
        if edges.len() > 1 {
            behind_unguarded(index, edges, findings);
            in_transient_state(index, id, edges, findings);
        }
    }
}

fn behind_unguarded(index: &ChartIndex<'_>, edges: &[TransitionEdge<'_>], findings: &mut Vec<Finding>) {
    // Candidates for one event are usually neighbours, and lists are short; only long ones are worth sorting.
    let mut order: Vec<usize> = (0..edges.len()).collect();
    order.sort_by(|a, b| key(&edges[*a]).cmp(&key(&edges[*b])).then(a.cmp(b)));
    let mut certain: Option<&TransitionEdge<'_>> = None;
    for edge in order.into_iter().map(|number| &edges[number]) {
        match certain.filter(|first| first.spec.trigger == edge.spec.trigger) {
            Some(first) => findings.push(shadowed(index, first, edge)),
            None => certain = Some(edge).filter(|edge| edge.unguarded),
        }
    }
}

fn key<'e>(edge: &'e TransitionEdge<'_>) -> (u8, &'e str, usize) {
    match &edge.spec.trigger {
        TransitionTrigger::Event(name) => (0, name, 0),
        TransitionTrigger::Always => (1, "", 0),
        TransitionTrigger::After(timer) => (2, "", *timer),
        TransitionTrigger::Item { invoke, failed } => (3, if *failed { "error" } else { "done" }, *invoke),
    }
}

fn shadowed(index: &ChartIndex<'_>, first: &TransitionEdge<'_>, edge: &TransitionEdge<'_>) -> Finding {
    let trigger = index.trigger_text(edge);
    let why = if first.spec.guard.is_some() { "whose guard is always true" } else { "without a guard" };
    UNREACHABLE_TRANSITION
        .at(
            index.target_span(edge),
            format!("this {trigger} transition of `{}` can never be chosen", index.path(edge.source)),
        )
        .label(format!("comes after one {why}"))
        .related(index.target_span(first), "always chosen first")
        .help("put the transition without a guard last, or give it a guard")
}

/// Eventless transitions take precedence, so a state with an unconditional one never waits for an event.
fn in_transient_state(
    index: &ChartIndex<'_>,
    id: NodeId,
    edges: &[TransitionEdge<'_>],
    findings: &mut Vec<Finding>,
) {
    let leaves = |edge: &&TransitionEdge<'_>| {
        edge.is_always() && edge.unguarded && edge.domain.is_some_and(|d| d < id)
    };
    let Some(leaving) = edges.iter().find(leaves) else { return };
    let Some(waiting) = edges.iter().find(|edge| !edge.is_always()) else { return };
    findings.push(
        UNREACHABLE_TRANSITION
            .at(
                index.trigger_span(waiting),
                format!("`{}` never waits for {}", index.path(id), index.trigger_text(waiting)),
            )
            .label("the state is left before any event arrives")
            .related(index.trigger_span(leaving), "this eventless transition is always taken")
            .help("give the eventless transition a guard, or remove the unreachable handlers"),
    );
}
