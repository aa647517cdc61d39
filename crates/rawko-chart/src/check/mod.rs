//! The analyses: static checks of a chart's structure, before anything runs. One file for each; they share an
//! [`Index`](index::Index) that is computed once, and none is worse than linear in chart × depth.

mod actions;
mod consequences;
mod cycles;
mod dead_ends;
mod entry;
mod eventless;
mod events;
mod failures;
mod finals;
mod guards;
mod histories;
mod index;
mod invokes;
mod orphans;
mod reach;
pub(crate) mod recursion;
pub(crate) mod region_cycles;
mod region_data;
mod regions;
mod resets;
mod shadowed;
mod shared_keys;
#[cfg(test)]
mod sketch;
#[cfg(test)]
mod tests;
mod wildcards;
mod words;
mod zero_delays;

use crate::finding::Finding;
use crate::lowered::LoweredChart;

/// Returns the findings of all analyses, in the order of the source text.
pub fn analyse(lowered: &LoweredChart) -> Vec<Finding> {
    analyse_beside(lowered, "", &[])
}

/// Like [`analyse`], without the consequences of earlier findings in the same text.
pub(crate) fn analyse_beside(lowered: &LoweredChart, text: &str, earlier: &[Finding]) -> Vec<Finding> {
    if lowered.blueprint.nodes.is_empty() {
        return Vec::new();
    }
    let index = index::ChartIndex::new(lowered, &consequences::Strays::new(text, earlier));
    let doings = actions::ActionEffects::new(&index);
    let mut findings = Vec::new();
    orphans::analyse(&index, &mut findings);
    regions::analyse(&index, &mut findings);
    histories::analyse(&index, &mut findings);
    eventless::analyse(&index, &doings, &mut findings);
    zero_delays::analyse(&index, &mut findings);
    finals::analyse(&index, &mut findings);
    invokes::analyse(&index, &mut findings);
    events::analyse(&index, &doings, &mut findings);
    guards::analyse(&index, &mut findings);
    shadowed::analyse(&index, &mut findings);
    resets::analyse(&index, &mut findings);
    shared_keys::analyse(&index, &doings, &mut findings);
    wildcards::analyse(&index, &mut findings);
    failures::analyse(&index, &mut findings);
    dead_ends::analyse(&index, &mut findings);
    findings.sort_by_key(|finding| finding.span);
    findings
}
