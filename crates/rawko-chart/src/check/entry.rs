//! The consequences of entering targets below a domain: enclosing states, and sibling regions. Shared by the analyses
//! of reachability and eventless cycles.

use rawko_core::{NodeId, NodeKind};

use super::index::ChartIndex;

/// One consequence of entering a set of targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entered {
    /// Entered on the way to a target, which determines its active child.
    Passed(NodeId),
    /// Entered by default: continues to its initial states.
    Default(NodeId),
    /// A history node was the target.
    History(NodeId),
    /// The regions of this parallel state that contain no target are entered by default. Not listed one by one: many
    /// transitions into a state of many regions would take the product of both.
    Beside(NodeId),
}

/// Visits everything that entering `targets` inside `domain` enters, down to default entries.
pub(crate) fn enter(
    index: &ChartIndex<'_>,
    targets: &[NodeId],
    domain: NodeId,
    visit: &mut impl FnMut(Entered),
) {
    for target in targets {
        match index.kind(*target) {
            NodeKind::History(_) => visit(Entered::History(*target)),
            NodeKind::Atomic | NodeKind::Compound | NodeKind::Parallel | NodeKind::Final => {
                visit(Entered::Default(*target));
            }
        }
        for above in index.ancestors(*target).take_while(|above| index.within(*above, domain)) {
            if above != domain {
                visit(Entered::Passed(above));
            }
            if index.kind(above) == NodeKind::Parallel {
                visit(Entered::Beside(above));
            }
        }
    }
}

/// Returns the regions of `parallel` that contain a target; `None` if a target covers all of them: the parallel state
/// itself, or a history node of it.
pub(crate) fn spoken_for(
    index: &ChartIndex<'_>,
    targets: &[NodeId],
    parallel: NodeId,
) -> Option<Vec<NodeId>> {
    let mut regions = Vec::new();
    for target in targets.iter().filter(|target| index.within(**target, parallel)) {
        let chain = std::iter::once(*target).chain(index.ancestors(*target));
        let region = chain.take_while(|node| *node != parallel).last()?;
        if matches!(index.kind(region), NodeKind::History(_)) {
            return None;
        }
        if !regions.contains(&region) {
            regions.push(region);
        }
    }
    Some(regions)
}
