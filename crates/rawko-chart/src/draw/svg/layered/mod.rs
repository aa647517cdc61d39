//! Layout in layers, after Sugiyama: each composite is laid out from the inside out, as a graph of its children whose
//! arrows all run down. An arrow that leaves a composite does so through a port in its border, and its pieces are joined
//! on the way out.

mod graph;
mod layers;
mod order;
mod place;
mod ports;
mod requests;
mod sketch;
mod tracks;

use std::collections::BTreeMap;

use rawko_core::NodeId;

use super::layout::{Layout, LayoutInput};
use requests::RouteRequests;

/// The children of `scope`, and `scope` itself where it has a box. `block` gives the composites that are laid out
/// already.
pub(crate) fn layout(
    plan: &LayoutInput<'_>,
    scope: NodeId,
    block: impl Fn(NodeId) -> Option<Layout>,
) -> Layout {
    let mut blocks = BTreeMap::new();
    find_blocks(plan, scope, &block, &mut blocks);
    let wanted = RouteRequests::of(plan, scope, &blocks);
    let mut out =
        sketch::composite(plan, scope, &wanted, &blocks, scope == NodeId::ROOT && !plan.framed).layout;
    for (at, route) in out.routes.iter_mut().enumerate() {
        if wanted.is_reversed(at) {
            route.points.reverse();
        }
        simplify(&mut route.points);
    }
    out.round();
    out
}

fn find_blocks(
    plan: &LayoutInput<'_>,
    id: NodeId,
    block: &impl Fn(NodeId) -> Option<Layout>,
    blocks: &mut BTreeMap<NodeId, Layout>,
) {
    for child in &plan.picture.node(id).children {
        match block(*child) {
            Some(laid) => drop(blocks.insert(*child, laid)),
            None => find_blocks(plan, *child, block, blocks),
        }
    }
}

/// Takes out points that lie on the line between their neighbours.
fn simplify(points: &mut Vec<(f64, f64)>) {
    let mut at = 1;
    while at + 1 < points.len() {
        let (a, b, c) = (points[at - 1], points[at], points[at + 1]);
        let same = |x: f64, y: f64| (x - y).abs() < 0.05;
        if (same(a.0, b.0) && same(b.0, c.0)) || (same(a.1, b.1) && same(b.1, c.1)) {
            points.remove(at);
        } else {
            at += 1;
        }
    }
}
