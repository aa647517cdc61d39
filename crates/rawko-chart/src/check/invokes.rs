//! Invokes: an unhandled failure stalls the instance, and two running invokes with the same id receive each other's
//! results.

use rawko_core::NodeId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::index::ChartIndex;
use crate::codes::{DUPLICATE_INVOKE_ID, INVOKE_WITHOUT_ON_ERROR, UNBOUNDED_FAN_OUT};
use crate::finding::Finding;
use crate::source::Span;

pub(crate) fn analyse(index: &ChartIndex<'_>, findings: &mut Vec<Finding>) {
    if index.invokes().next().is_some() {
        unhandled_failures(index, findings);
        duplicate_ids(index, findings);
        unbounded_fan_outs(index, findings);
    }
}

/// A list that comes from data may have any length. The default of `max_concurrent` bounds the items that run at once, but not
/// the cost.
fn unbounded_fan_outs(index: &ChartIndex<'_>, findings: &mut Vec<Finding>) {
    for (node, number, invoke) in index.invokes() {
        let Some(each) = &invoke.each else { continue };
        let Some(places) = index.invoke_places(node, number) else { continue };
        let has_budget = !index.node(node).policy.get("budget").is_null();
        if each.list.constant().is_some() || places.max_concurrent || has_budget {
            continue;
        }
        findings.push(
            UNBOUNDED_FAN_OUT
                .at(
                    places.each.unwrap_or(places.body),
                    format!("`{}` starts one call per item, without a limit of its own", invoke.id),
                )
                .label("may have any length")
                .help("add `max_concurrent` to the invoke, or a `budget` to the state"),
        );
    }
}

fn unhandled_failures(index: &ChartIndex<'_>, findings: &mut Vec<Finding>) {
    let by_name: FxHashSet<&str> =
        index.edges.iter().filter_map(|edge| edge.event()?.strip_prefix("error.invoke.")).collect();
    let by_pattern = catches_any_error(index);
    for (node, number, invoke) in index.invokes() {
        let places = index.invoke_places(node, number);
        let handled = places.is_some_and(|places| places.on_error)
            || by_name.contains(&*invoke.id)
            || by_pattern[node.index()];
        if !handled {
            let span = places.map(|places| places.src).unwrap_or_default();
            findings.push(
                INVOKE_WITHOUT_ON_ERROR
                    .at(span, format!("nothing handles a failure of invoke `{}`", invoke.id))
                    .label("if this fails, the instance stops with status `error`")
                    .help(format!(
                        "add `onError` to the invoke, or handle `error.invoke.{}` in `{}` or above it",
                        invoke.id,
                        index.path(node)
                    )),
            );
        }
    }
}

/// For every state: true if it or an enclosing one has a pattern that matches any invoke's failure.
fn catches_any_error(index: &ChartIndex<'_>) -> Vec<bool> {
    let mut catches = Vec::with_capacity(index.nodes.len());
    for id in index.ids() {
        let inherited = index.parent(id).is_some_and(|parent| catches[parent.index()]);
        let own = || {
            index
                .edges_of(id)
                .iter()
                .any(|edge| matches!(edge.event(), Some("*" | "error.*" | "error.invoke.*")))
        };
        catches.push(inherited || own());
    }
    catches
}

/// In document order, if any two states with the same id can be active together, then two neighbours in the list can.
fn duplicate_ids(index: &ChartIndex<'_>, findings: &mut Vec<Finding>) {
    let mut latest: FxHashMap<&str, (NodeId, Span)> = FxHashMap::default();
    for (node, number, invoke) in index.invokes() {
        let span = index.invoke_places(node, number).map(|places| places.body).unwrap_or_default();
        if let Some((earlier, earlier_span)) = latest.insert(&invoke.id, (node, span))
            && index.coexist(earlier, node)
        {
            findings.push(
                DUPLICATE_INVOKE_ID
                    .at(
                        span,
                        format!("two invokes that can run at the same time have the id `{}`", invoke.id),
                    )
                    .label(format!("in `{}`", index.path(node)))
                    .related(earlier_span, format!("in `{}`", index.path(earlier)))
                    .help("give each its own `id`: `onDone` and `onError` match invokes by id"),
            );
        }
    }
}
