//! Rule 3: every state is reachable. Only the outermost unreachable state is reported, not its descendants.

use rawko_core::{NodeId, NodeKind};

use super::index::ChartIndex;
use crate::codes::UNREACHABLE_STATE;
use crate::finding::Finding;

pub(crate) fn analyse(index: &ChartIndex<'_>, findings: &mut Vec<Finding>) {
    let first = findings.len();
    let mut id = NodeId::ROOT;
    while id.index() < index.nodes.len() {
        if is_orphan(index, id) {
            findings.push(finding(index, id));
            id = NodeId(index.last(id).0 + 1);
        } else {
            id = NodeId(id.0 + 1);
        }
    }
    if findings.len() > first {
        point_at_dead_transitions(index, &mut findings[first..]);
    }
}

/// States inside a final state are reported there.
fn is_orphan(index: &ChartIndex<'_>, id: NodeId) -> bool {
    !index.reached[id.index()] && index.parent(id).is_none_or(|parent| index.kind(parent) != NodeKind::Final)
}

fn finding(index: &ChartIndex<'_>, id: NodeId) -> Finding {
    let path = index.path(id);
    let (message, help) = match index.kind(id) {
        NodeKind::History(_) => (
            format!("history `{path}` is never used"),
            format!("add a transition to `{path}`, or remove the state"),
        ),
        NodeKind::Atomic | NodeKind::Compound | NodeKind::Parallel | NodeKind::Final => (
            format!("state `{path}` can never be reached"),
            format!("add a transition to `{path}`, or remove the state"),
        ),
    };
    UNREACHABLE_STATE.at(index.key_span(id), message).label("nothing leads here").help(help)
}

/// Points at transitions into an orphan, which start in an unreachable state as well.
fn point_at_dead_transitions(index: &ChartIndex<'_>, findings: &mut [Finding]) {
    let mut orphans: Vec<usize> = vec![usize::MAX; index.nodes.len()];
    let mut number = 0;
    let mut id = 0;
    while id < index.nodes.len() {
        let end = index.last(NodeId(id as u32)).index();
        if !is_orphan(index, NodeId(id as u32)) {
            id += 1;
            continue;
        }
        orphans[id..=end].fill(number);
        number += 1;
        id = end + 1;
    }
    for edge in &index.edges {
        let from = orphans[edge.source.index()];
        for target in edge.targets() {
            let into = orphans[target.index()];
            if into != usize::MAX && into != from && findings[into].related.is_empty() {
                let label = format!("starts in `{}`, which is also unreachable", index.path(edge.source));
                findings[into].related.push((index.target_span(edge), label));
                findings[into].label = "nothing reachable leads here".to_owned();
            }
        }
    }
}
