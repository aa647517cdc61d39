//! What entering targets below a domain brings along: enclosing states, and the regions beside them. Reachability and
//! eventless cycles both follow it, so it is written once.

use rawko_core::{NodeId, NodeKind};

use super::index::Index;

/// One consequence of entering a set of targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entered {
    /// Entered on the way to a target: where it leads inside is decided by that target.
    Passed(NodeId),
    /// Entered for its own sake: it goes on to its initial states.
    Default(NodeId),
    /// A history node was the target.
    History(NodeId),
}

/// Visits everything that entering `targets` inside `domain` enters, down to where defaults take over.
pub(crate) fn enter(index: &Index<'_>, targets: &[NodeId], domain: NodeId, visit: &mut impl FnMut(Entered)) {
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
                enter_other_regions(index, targets, above, visit);
            }
        }
    }
}

/// The regions of a parallel state that no target speaks for start over.
fn enter_other_regions(
    index: &Index<'_>,
    targets: &[NodeId],
    parallel: NodeId,
    visit: &mut impl FnMut(Entered),
) {
    for region in regions_left_out(index, targets, parallel) {
        visit(Entered::Default(region));
    }
}

/// The regions of `parallel` that hold none of the targets. A history node of the parallel speaks for all of them.
pub(crate) fn regions_left_out<'i>(
    index: &'i Index<'_>,
    targets: &'i [NodeId],
    parallel: NodeId,
) -> impl Iterator<Item = NodeId> + 'i {
    let speaks_for_all = |target: &NodeId| {
        *target == parallel
            || (index.parent(*target) == Some(parallel)
                && matches!(index.kind(*target), NodeKind::History(_)))
    };
    let covered = targets.iter().any(speaks_for_all);
    index
        .regions(parallel)
        .filter(move |region| !covered && !targets.iter().any(|target| index.within(*target, *region)))
}
