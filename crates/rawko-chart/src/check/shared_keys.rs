//! Two regions of a parallel state that assign one context key: the later one overwrites the other, depending on an
//! order that is easy to miss.

use rawko_core::{NodeId, NodeKind, Slot};
use rustc_hash::FxHashMap;

use super::actions::{ActionEffects, Assigned};
use super::index::ChartIndex;
use crate::codes::REGIONS_ASSIGN_SAME_KEY;
use crate::finding::Finding;

/// The region of a parallel state that was first seen to assign a key, and true if that was reported.
struct First<'d> {
    region: NodeId,
    assigned: &'d Assigned,
    reported: bool,
}

pub(crate) fn analyse(index: &ChartIndex<'_>, doings: &ActionEffects<'_>, findings: &mut Vec<Finding>) {
    let mut firsts: FxHashMap<(NodeId, Slot), First<'_>> = FxHashMap::default();
    for assigned in &doings.assigned {
        let mut region = assigned.node;
        for above in index.ancestors(assigned.node) {
            if index.kind(above) == NodeKind::Parallel {
                let first = firsts.entry((above, assigned.slot)).or_insert(First {
                    region,
                    assigned,
                    reported: false,
                });
                if first.region != region && !first.reported {
                    first.reported = true;
                    findings.push(finding(index, (first.region, first.assigned), (region, assigned)));
                }
            }
            region = above;
        }
    }
}

fn finding(
    index: &ChartIndex<'_>,
    (first, earlier): (NodeId, &Assigned),
    (second, later): (NodeId, &Assigned),
) -> Finding {
    let context = &index.lowered.blueprint.context;
    let key = context.get(later.slot.index()).map(|key| &*key.name).unwrap_or_default();
    let (first, second) = (&index.node(first).key, &index.node(second).key);
    REGIONS_ASSIGN_SAME_KEY
        .at(later.span, format!("regions `{first}` and `{second}` both assign `context.{key}`"))
        .label(format!("assigned in `{second}`"))
        .related(earlier.span, format!("assigned in `{first}`"))
        .help(format!("give each region its own key, or assign `{key}` when the parallel state is done"))
}
