//! History that leads back to itself before anything was recorded: entering such a state would never end, so there is no
//! chart to run.

use rawko_core::{NodeId, NodeKind};
use rustc_hash::FxHashSet;

use super::cycles::{Successors, components};
use super::index::Index;
use crate::codes::CIRCULAR_HISTORY;
use crate::finding::Finding;

pub(crate) fn analyse(index: &Index<'_>, findings: &mut Vec<Finding>) {
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
}

/// Returns the default entries of each node without recorded history.
fn defaults(index: &Index<'_>) -> Successors {
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

fn finding(index: &Index<'_>, id: NodeId) -> Finding {
    let path = index.path(id);
    CIRCULAR_HISTORY
        .at(index.key_span(id), format!("history `{path}` leads back to itself when nothing was recorded"))
        .label("entering it would never end")
        .help(format!("give `{path}` a `target`: the state to start in the first time"))
}
