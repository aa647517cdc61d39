//! A `*` takes every event, including `done.*` and `error.*`, before an enclosing state sees it. That is rarely
//! intended if the enclosing state waits for a completion.

use rawko_core::{NodeId, NodeKind};
use rustc_hash::FxHashMap;

use super::index::{ChartIndex, TransitionEdge};
use crate::codes::WILDCARD_SWALLOWS_COMPLETION;
use crate::finding::Finding;

/// Limit of completions of one enclosing state that are compared with each `*`.
const WAITING_MAX: usize = 64;

/// A transition that waits for a completion or a failure.
struct CompletionTransition<'i, 'a> {
    edge: &'i TransitionEdge<'a>,
    event: &'i str,
    what: CompletionSource,
}

#[derive(Clone, Copy)]
enum CompletionSource {
    Of(NodeId),
    OfInvokeIn(NodeId),
}

pub(crate) fn analyse(index: &ChartIndex<'_>, findings: &mut Vec<Finding>) {
    let stars: Vec<&TransitionEdge<'_>> =
        index.edges.iter().filter(|edge| edge.event() == Some("*")).collect();
    if stars.is_empty() {
        return;
    }
    let waiting = waiting_by_node(index);
    let mut last_source = None;
    for star in stars {
        // One report for each state, regardless of the number of candidates of its `*`.
        if last_source.replace(star.source) != Some(star.source)
            && let Some(swallowed) = find_swallowed(index, &waiting, star)
        {
            findings.push(finding(index, star, swallowed));
        }
    }
}

fn waiting_by_node<'i, 'a>(
    index: &'i ChartIndex<'a>,
) -> FxHashMap<NodeId, Vec<CompletionTransition<'i, 'a>>> {
    let states = index.names();
    let invokes: FxHashMap<&str, NodeId> =
        index.invokes().map(|(node, _, invoke)| (&*invoke.id, node)).collect();
    let mut waiting: FxHashMap<NodeId, Vec<CompletionTransition<'_, '_>>> = FxHashMap::default();
    for edge in &index.edges {
        let Some(event) = edge.event() else { continue };
        let what = if let Some(name) = event.strip_prefix("done.state.") {
            states.get(name).map(|id| CompletionSource::Of(*id))
        } else {
            let id = ["done.invoke.", "error.invoke.", "timeout.invoke."]
                .into_iter()
                .find_map(|prefix| event.strip_prefix(prefix));
            id.and_then(|id| invokes.get(id)).map(|node| CompletionSource::OfInvokeIn(*node))
        };
        if let Some(what) = what {
            waiting.entry(edge.source).or_default().push(CompletionTransition { edge, event, what });
        }
    }
    waiting
}

fn find_swallowed<'w, 'i, 'a>(
    index: &ChartIndex<'_>,
    waiting: &'w FxHashMap<NodeId, Vec<CompletionTransition<'i, 'a>>>,
    star: &TransitionEdge<'_>,
) -> Option<&'w CompletionTransition<'i, 'a>> {
    let mut beside_others = false;
    for above in index.ancestors(star.source) {
        beside_others |= index.kind(above) == NodeKind::Parallel;
        // Another region still finds the enclosing transition, and one that exits nothing does not block it.
        if beside_others && star.domain.is_none() {
            return None;
        }
        let found = waiting.get(&above).into_iter().flatten().take(WAITING_MAX).find(|waiting| {
            hears(index, star.source, waiting.what) && !answers(index, star.source, waiting.event)
        });
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Returns true if a state is active, and tried before its ancestors, when the completion occurs.
fn hears(index: &ChartIndex<'_>, star: NodeId, what: CompletionSource) -> bool {
    match what {
        CompletionSource::Of(done) if index.within(done, star) => true,
        // Inside a done state only final states and the regions of parallel ones are active.
        CompletionSource::Of(done) => {
            index.within(star, done)
                && std::iter::once(star)
                    .chain(index.ancestors(star))
                    .take_while(|node| *node != done)
                    .all(|node| index.parent(node).is_some_and(|up| index.kind(up) == NodeKind::Parallel))
        }
        CompletionSource::OfInvokeIn(invoking) => index.coexist(star, invoking),
    }
}

/// Returns true if the state handles the event by name, which takes precedence over its `*`.
fn answers(index: &ChartIndex<'_>, star: NodeId, event: &str) -> bool {
    index.edges_of(star).iter().any(|edge| edge.event() == Some(event) && edge.unguarded)
}

fn finding(
    index: &ChartIndex<'_>,
    star: &TransitionEdge<'_>,
    swallowed: &CompletionTransition<'_, '_>,
) -> Finding {
    let (inner, outer) = (index.path(star.source), index.path(swallowed.edge.source));
    WILDCARD_SWALLOWS_COMPLETION
        .at(
            index.trigger_span(star),
            format!("`*` in `{inner}` handles `{}` before `{outer}` can", swallowed.event),
        )
        .label("matches every event, completions and errors included")
        .related(index.trigger_span(swallowed.edge), "waits for it here")
        .help(format!(
            "list the events that `{inner}` handles, or handle `{}` there as well",
            swallowed.event
        ))
}
