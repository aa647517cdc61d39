//! A final state ends its parent: nothing inside it can happen.

use rawko_core::{NodeId, NodeKind};

use super::index::ChartIndex;
use crate::codes::FINAL_WITH_TRANSITIONS;
use crate::finding::Finding;
use crate::source::Span;

pub(crate) fn analyse(index: &ChartIndex<'_>, findings: &mut Vec<Finding>) {
    for id in index.ids().filter(|id| index.kind(*id) == NodeKind::Final) {
        if let Some((what, span)) = superfluous(index, id) {
            let path = index.path(id);
            findings.push(
                FINAL_WITH_TRANSITIONS
                    .at(span, format!("final state `{path}` has {what}"))
                    .label("never happens")
                    .related(index.key_span(id), "`type: final` ends the enclosing state")
                    .help(format!("remove it, or give `{path}` another type")),
            );
        }
    }
}

fn superfluous(index: &ChartIndex<'_>, id: NodeId) -> Option<(&'static str, Span)> {
    if let Some(edge) = index.edges_of(id).first() {
        return Some(("a transition", index.trigger_span(edge)));
    }
    if !index.node(id).invokes.is_empty() {
        return Some(("an invoke", index.invoke_places(id, 0).map(|places| places.body).unwrap_or_default()));
    }
    index.children(id).next().map(|child| ("child states", index.key_span(child)))
}
