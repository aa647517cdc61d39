//! States that cannot be left and are not final. Only reported beside final states: a chart that never ends on purpose
//! has none.

use rawko_core::NodeKind;

use super::index::ChartIndex;
use crate::codes::DEAD_END;
use crate::finding::Finding;

pub(crate) fn analyse(index: &ChartIndex<'_>, findings: &mut Vec<Finding>) {
    let way_out = ways_out(index);
    for id in index.ids().skip(1) {
        let suspect = index.kind(id) == NodeKind::Atomic
            && !way_out[id.index()]
            && index.reached[id.index()]
            && index.node(id).invokes.is_empty();
        if suspect && index.parent(id).is_some_and(|parent| index.has_final(parent)) {
            let path = index.path(id);
            findings.push(
                DEAD_END
                    .at(index.key_span(id), format!("state `{path}` cannot be left"))
                    .label("no transition here or in an enclosing state")
                    .help(format!("write `type: final` if the chart ends in `{path}`, or add a transition")),
            );
        }
    }
}

/// For every state: true if it or an enclosing one has any transition, or it is in a region beside others.
fn ways_out(index: &ChartIndex<'_>) -> Vec<bool> {
    let mut ways = Vec::with_capacity(index.nodes.len());
    for id in index.ids() {
        let inherited = index.parent(id).is_some_and(|parent| ways[parent.index()]);
        let own = !index.edges_of(id).is_empty() || index.kind(id) == NodeKind::Parallel;
        ways.push(inherited || own);
    }
    ways
}
