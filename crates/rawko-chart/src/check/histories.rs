//! History that leads back to itself before anything was recorded (entering it would never end, so there is no chart to
//! run), and history that is entered only while its parent is active.

use rawko_core::{NodeId, NodeKind};
use rustc_hash::FxHashSet;

use super::cycles::{Successors, components};
use super::index::{ChartIndex, TransitionEdge};
use crate::codes::{CIRCULAR_HISTORY, HISTORY_ONLY_FROM_INSIDE};
use crate::finding::Finding;

pub(crate) fn analyse(index: &ChartIndex<'_>, findings: &mut Vec<Finding>) {
    let is_history = |id: &NodeId| matches!(index.kind(*id), NodeKind::History(_));
    if !index.ids().any(|id| is_history(&id)) {
        return;
    }
    let component = components(&defaults(index));
    let mut seen = FxHashSet::default();
    for id in index.ids().filter(is_history) {
        if let Some(circle) = component[id.index()]
            && seen.insert(circle)
        {
            findings.push(finding(index, id));
        }
    }
    findings.extend(only_from_inside(index));
}

/// A history is recorded when its parent is left. Transitions that stay inside the parent do not leave it, so that they
/// restore an earlier visit or take the default.
fn only_from_inside(index: &ChartIndex<'_>) -> Vec<Finding> {
    // The initial of a state is taken when the state is entered, from wherever that is.
    let initials = index.ids().filter_map(|id| index.node(id).initial.as_ref());
    let mut elsewhere: FxHashSet<NodeId> =
        initials.flat_map(|initial| initial.targets.iter().copied()).collect();
    let mut inside: Vec<(NodeId, &TransitionEdge<'_>)> = Vec::new();
    for edge in &index.edges {
        for target in edge.targets() {
            let (NodeKind::History(_), Some(parent)) = (index.kind(*target), index.parent(*target)) else {
                continue;
            };
            if !edge.domain.is_some_and(|domain| index.within(domain, parent)) {
                elsewhere.insert(*target);
            } else if !inside.iter().any(|(known, _)| known == target) {
                inside.push((*target, edge));
            }
        }
    }
    inside.retain(|(id, _)| !elsewhere.contains(id));
    inside.into_iter().filter_map(|(id, edge)| inside_finding(index, id, edge)).collect()
}

fn inside_finding(index: &ChartIndex<'_>, id: NodeId, edge: &TransitionEdge<'_>) -> Option<Finding> {
    let (path, parent) = (index.path(id), index.path(index.parent(id)?));
    let message =
        format!("history `{path}` is entered only from inside `{parent}`, which is never exited first");
    let help = format!("target `{path}` from outside `{parent}`, or remove the state");
    Some(
        HISTORY_ONLY_FROM_INSIDE
            .at(index.key_span(id), message)
            .label(format!("recorded only when `{parent}` is exited"))
            .related(index.target_span(edge), format!("this transition stays inside `{parent}`"))
            .help(help),
    )
}

/// Returns the default entries of each node without recorded history.
fn defaults(index: &ChartIndex<'_>) -> Successors {
    let mut graph = Successors::default();
    for id in index.ids() {
        let initial = index.node(id).initial.as_ref().map(|initial| &initial.targets[..]);
        graph.push(|next| match (index.kind(id), initial) {
            (NodeKind::Parallel, _) => next.extend(index.regions(id).map(|region| region.0)),
            (NodeKind::History(_), None) => next.extend(index.parent(id).map(|parent| parent.0)),
            (NodeKind::Compound | NodeKind::History(_), Some(targets)) => {
                next.extend(targets.iter().map(|target| target.0));
            }
            (NodeKind::Compound | NodeKind::Atomic | NodeKind::Final, _) => {}
        });
    }
    graph
}

fn finding(index: &ChartIndex<'_>, id: NodeId) -> Finding {
    let path = index.path(id);
    CIRCULAR_HISTORY
        .at(index.key_span(id), format!("history `{path}` leads back to itself when nothing is recorded"))
        .label("entering it would never end")
        .help(format!("give `{path}` a `target`: the state to start in the first time"))
}
