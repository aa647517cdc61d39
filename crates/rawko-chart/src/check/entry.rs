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
    /// The regions of this parallel state that no target speaks for are entered for their own sake. Not listed one by
    /// one: many transitions into a state of many regions would take the product of both.
    Beside(NodeId),
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
                visit(Entered::Beside(above));
            }
        }
    }
}

/// The regions of `parallel` that hold a target; `None` when a target speaks for all of them: the parallel state itself,
/// or a history node of it.
pub(crate) fn spoken_for(index: &Index<'_>, targets: &[NodeId], parallel: NodeId) -> Option<Vec<NodeId>> {
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
