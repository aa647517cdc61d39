//! Finds, at load, the moves during which nothing happens (see [`Plain`]). Most transitions of most charts are such;
//! knowing it once saves every step from asking each node that is left or entered what it has to do.

use crate::blueprint::NodeKind;
use crate::ids::NodeId;
use crate::tables::{Node, Plain, Range, Route, Tables};

/// Marks the routes that are plain and the handlers that lead to a single leaf by one.
pub(crate) fn mark(tables: &mut Tables) {
    let busy_before = busy_before(&tables.nodes);
    for index in 0..tables.transitions.len() {
        let transition = &tables.transitions[index];
        let Route::Fixed { domain, entries, .. } = transition.route else { continue };
        let last = tables.last[domain.index()];
        let is_busy = busy_before[last.index() + 1] > busy_before[domain.index() + 1];
        if is_busy || !transition.actions.is_empty() || entries.is_empty() {
            continue;
        }
        let start = tables.leaves.len() as u32;
        let entered = tables.entries[entries.usize()].iter().map(|entry| entry.node);
        tables.leaves.extend(entered.filter(|node| tables.nodes[node.index()].kind == NodeKind::Atomic));
        let leaves = Range { start, end: tables.leaves.len() as u32 };
        tables.transitions[index].route = Route::Fixed { domain, entries, plain: Some(Plain { leaves }) };
    }
    for index in 0..tables.handlers.len() {
        tables.handlers[index].plain = only_leaf(tables, tables.handlers[index].candidates);
    }
    // Parents come first, so what they know is there to be passed on.
    for index in 0..tables.nodes.len() {
        let node = &tables.nodes[index];
        let is_here = tables.handlers[node.handlers.usize()].iter().any(|handler| handler.plain.is_some());
        tables.nodes[index].has_plain =
            is_here || node.parent.is_some_and(|parent| tables.node(parent).has_plain);
    }
}

/// Whether there is anything to do when a node is left or entered, or while it waits to be.
fn is_busy(node: &Node) -> bool {
    let acts = !(node.entry.is_empty() && node.exit.is_empty() && node.initial_actions.is_empty());
    let waits = node.has_timers || !node.invokes.is_empty();
    acts || waits || !node.history.is_empty() || matches!(node.kind, NodeKind::Final | NodeKind::History(_))
}

/// How many busy nodes come before each node: whether a subtree has one is then a subtraction.
fn busy_before(nodes: &[Node]) -> Vec<u32> {
    let mut count = 0;
    let mut before = vec![0];
    for node in nodes {
        count += u32::from(is_busy(node));
        before.push(count);
    }
    before
}

/// Where the first of these candidates leads if it has no guard, is plain, and no eventless transition waits there.
fn only_leaf(tables: &Tables, candidates: Range) -> Option<NodeId> {
    let first = tables.transition(*tables.candidates[candidates.usize()].first()?);
    let Route::Fixed { plain: Some(plain), .. } = &first.route else { return None };
    let [leaf] = tables.leaves[plain.leaves.usize()] else { return None };
    let mut line = std::iter::once(leaf).chain(tables.ancestors(leaf));
    let is_quiet = line.all(|node| tables.node(node).always.is_empty());
    (first.guard.is_none() && is_quiet).then_some(leaf)
}
