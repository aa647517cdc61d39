//! Transitions whose domain is a parallel state: they exit all of its regions, and every region that no target speaks
//! for starts over. Authors mostly mean one region.

use rawko_core::{NodeId, NodeKind};

use super::entry::regions_left_out;
use super::index::{Edge, Index};
use crate::codes::RESETS_SIBLING_REGIONS;
use crate::finding::Finding;

pub(crate) fn analyse(index: &Index<'_>, findings: &mut Vec<Finding>) {
    for edge in &index.edges {
        let Some(parallel) = edge.domain.filter(|domain| index.kind(*domain) == NodeKind::Parallel) else {
            continue;
        };
        let restarted: Vec<NodeId> = regions_left_out(index, edge.targets(), parallel).collect();
        if !restarted.is_empty() {
            findings.push(finding(index, edge, parallel, &restarted));
        }
    }
}

fn finding(index: &Index<'_>, edge: &Edge<'_>, parallel: NodeId, restarted: &[NodeId]) -> Finding {
    let regions = list(restarted.iter().map(|region| index.node(*region).key.as_str()));
    let (word, verb) = if restarted.len() == 1 { ("region", "starts") } else { ("regions", "start") };
    let mut finding = RESETS_SIBLING_REGIONS
        .at(
            index.target_span(edge),
            format!(
                "transition {} of `{}` re-enters `{}`: {word} {regions} {verb} over",
                index.trigger_text(edge),
                index.path(edge.source),
                index.path(parallel),
            ),
        )
        .label("leaves its region but not the parallel state");
    if edge.source == parallel {
        finding.label = "enters one region anew, and with it all of them".to_owned();
    }
    for region in restarted.iter().filter(|region| !index.within(edge.source, **region)).take(3) {
        finding = finding.related(index.key_span(*region), "starts over");
    }
    finding.help(
        "raise an event that the other region handles itself, or name a target in every region if the reset is meant",
    )
}

fn list<'s>(names: impl Iterator<Item = &'s str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
