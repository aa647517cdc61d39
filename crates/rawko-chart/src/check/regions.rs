//! Rule 5: a parallel state can complete, because each region has a reachable final state, unless something other than
//! its completion leaves it.

use rawko_core::{NodeId, NodeKind};

use super::index::{ChartIndex, TransitionEdge};
use crate::codes::REGION_WITHOUT_FINAL;
use crate::finding::Finding;

/// A state with more transitions than this is assumed to leave its enclosing states by one of them.
const EDGES_MAX: usize = 64;

pub(crate) fn analyse(index: &ChartIndex<'_>, findings: &mut Vec<Finding>) {
    for parallel in index.ids() {
        let incomplete = index.kind(parallel) == NodeKind::Parallel && !index.completes[parallel.index()];
        if !incomplete || !index.reached[parallel.index()] || is_left(index, parallel) {
            continue;
        }
        for region in index.regions(parallel).filter(|region| !index.completes[region.index()]) {
            // A region that is itself parallel is reported for its own regions.
            if index.kind(region) != NodeKind::Parallel {
                findings.push(finding(index, parallel, region));
            }
        }
    }
}

/// Returns true if a transition leaves the parallel state by an event, a delay or a condition.
pub(crate) fn is_left(index: &ChartIndex<'_>, parallel: NodeId) -> bool {
    let leaves = |edge: &TransitionEdge<'_>| {
        edge.is_stray()
            || edge.domain.is_some_and(|domain| domain < parallel && index.within(parallel, domain))
                && !edge.targets().iter().any(|target| index.within(*target, parallel))
                && can_occur(index, edge)
    };
    index.edges_within(parallel).iter().any(leaves)
        || index.ancestors(parallel).any(|above| {
            let edges = index.edges_of(above);
            edges.iter().take(EDGES_MAX).any(leaves) || edges.len() > EDGES_MAX
        })
}

/// Returns false for the completion of a state that cannot complete.
fn can_occur(index: &ChartIndex<'_>, edge: &TransitionEdge<'_>) -> bool {
    let Some(name) = edge.event().and_then(|event| event.strip_prefix("done.state.")) else { return true };
    index.names().get(name).is_some_and(|id| index.completes[id.index()])
}

fn finding(index: &ChartIndex<'_>, parallel: NodeId, region: NodeId) -> Finding {
    let (region_path, parallel_path) = (index.path(region), index.path(parallel));
    let has_final = index.has_final(region);
    let (what, label) = if has_final {
        ("no reachable final state", "its final state is unreachable")
    } else {
        ("no final state", "never completes")
    };
    REGION_WITHOUT_FINAL
        .at(index.key_span(region), format!("region `{region_path}` has {what}, so `{parallel_path}` never completes"))
        .label(label)
        .related(index.key_span(parallel), "nothing else leaves this parallel state")
        .help(format!(
            "give `{region_path}` a state of `type: final`, or let `{parallel_path}` handle an event that exits it"
        ))
}
