//! Transitions whose domain is a parallel state: they exit all of its regions, and every region without a target starts
//! over. Authors usually mean one region.

use rawko_core::{NodeId, NodeKind};

use super::entry::spoken_for;
use super::index::{ChartIndex, TransitionEdge};
use crate::codes::RESETS_SIBLING_REGIONS;
use crate::finding::Finding;

/// Limit of regions named in a message.
const NAMED_MAX: usize = 3;

pub(crate) fn analyse(index: &ChartIndex<'_>, findings: &mut Vec<Finding>) {
    for edge in &index.edges {
        let Some(parallel) = edge.domain.filter(|domain| index.kind(*domain) == NodeKind::Parallel) else {
            continue;
        };
        let Some(spoken_for) = spoken_for(index, edge.targets(), parallel) else { continue };
        let count = index.regions_count(parallel) - spoken_for.len();
        if count > 0 && !edge.is_stray() {
            let others = index.regions(parallel).filter(|region| !spoken_for.contains(region));
            let named: Vec<NodeId> = others.take(NAMED_MAX).collect();
            findings.push(finding(index, edge, parallel, &named, count));
        }
    }
}

fn finding(
    index: &ChartIndex<'_>,
    edge: &TransitionEdge<'_>,
    parallel: NodeId,
    restarted: &[NodeId],
    count: usize,
) -> Finding {
    let mut regions = list(restarted.iter().map(|region| &*index.node(*region).key));
    if count > restarted.len() {
        regions += &format!(" and {} more", count - restarted.len());
    }
    let (word, verb) = if count == 1 { ("region", "starts") } else { ("regions", "start") };
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
        .label("exits its region but not the parallel state");
    if edge.source == parallel {
        finding.label = "re-enters one region, and so all of them".to_owned();
    }
    for region in restarted.iter().filter(|region| !index.within(edge.source, **region)) {
        finding = finding.related(index.key_span(*region), "starts over");
    }
    finding.help(
        "raise an event that the other region handles, or name a target in every region if the reset is intended",
    )
}

fn list<'s>(names: impl Iterator<Item = &'s str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
