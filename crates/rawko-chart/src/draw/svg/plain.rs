//! Placement where the author gave positions; else, for charts too large for layers, regions side by side and states in a
//! column. Also joins the parts: a composite whose children have positions is a block inside the surrounding layout.

use rawko_core::{NodeId, NodeKind};

use super::boxes::{DOT, PAD, REGION_GAP};
use super::layout::{Layout, LayoutInput, Rect};

const COLUMN_GAP: f64 = 64.0;
const SIDE: f64 = 18.0;

/// Returns true if the author gave every child a position.
pub(crate) fn positioned(plan: &LayoutInput<'_>, id: NodeId) -> bool {
    let node = plan.picture.node(id);
    node.is_composite() && node.children.iter().all(|c| plan.picture.node(*c).position.is_some())
}

/// Places one composite with its children as laid out by `inside` (leaves are measured here).
pub(crate) fn place(plan: &LayoutInput<'_>, id: NodeId, inside: impl Fn(NodeId) -> Layout) -> Layout {
    let node = plan.picture.node(id);
    let boxed = id != NodeId::ROOT || plan.framed;
    let corner = if boxed { (SIDE, plan.writings[id.index()].height + 16.0) } else { (0.0, 0.0) };
    let block = |child: &NodeId| {
        if plan.picture.node(*child).is_composite() { inside(*child) } else { leaf(plan, *child) }
    };
    let blocks: Vec<(NodeId, Layout)> = node.children.iter().map(|child| (*child, block(child))).collect();
    let mut out = Layout::empty(plan);
    if positioned(plan, id) {
        for (child, block) in &blocks {
            let (x, y) = at(plan, id, *child, corner);
            out.absorb(block, x, y);
        }
        out.dots[id.index()] = dot_beside(plan, id, &out).filter(|_| plan.has_dot(id));
    } else {
        match node.kind {
            NodeKind::Parallel => row(&mut out, &blocks, corner),
            NodeKind::Atomic | NodeKind::Compound | NodeKind::Final | NodeKind::History(_) => {
                column(plan, id, &mut out, &blocks, corner);
            }
        }
    }
    finish(plan, id, boxed, &mut out);
    out
}

fn row(out: &mut Layout, blocks: &[(NodeId, Layout)], (mut x, y): (f64, f64)) {
    for (_, block) in blocks {
        out.absorb(block, x, y);
        x += block.width + REGION_GAP;
    }
}

/// Places children in a centred column, the initial dot on top.
fn column(
    plan: &LayoutInput<'_>,
    id: NodeId,
    out: &mut Layout,
    blocks: &[(NodeId, Layout)],
    (x, mut y): (f64, f64),
) {
    let wide = blocks.iter().map(|(_, b)| b.width).fold(0.0, f64::max);
    if plan.has_dot(id) {
        out.dots[id.index()] = Some((x + wide / 2.0, y + DOT / 2.0));
        y += DOT + 26.0;
    }
    for (_, block) in blocks {
        out.absorb(block, x + (wide - block.width) / 2.0, y);
        y += block.height + COLUMN_GAP;
    }
}

/// Returns a leaf as a separate layout.
fn leaf(plan: &LayoutInput<'_>, id: NodeId) -> Layout {
    let writing = &plan.writings[id.index()];
    let mut out = Layout::empty(plan);
    out.rects[id.index()] = Some(Rect { x: 0.0, y: 0.0, w: writing.width, h: writing.height });
    (out.width, out.height) = (writing.width, writing.height);
    out
}

/// Returns the author's position of a child; the leftmost and topmost sibling is at the corner, with room for the
/// initial dot.
fn at(plan: &LayoutInput<'_>, parent: NodeId, child: NodeId, (side, top): (f64, f64)) -> (f64, f64) {
    let places = plan.picture.node(parent).children.iter().filter_map(|c| plan.picture.node(*c).position);
    let (left, high) = places.fold((f64::MAX, f64::MAX), |(x, y), p| (x.min(p.0), y.min(p.1)));
    let own = plan.picture.node(child).position.unwrap_or((left, high));
    let room = if plan.has_dot(parent) { 36.0 } else { 0.0 };
    (side + room + own.0 - left, top + own.1 - high)
}

fn dot_beside(plan: &LayoutInput<'_>, id: NodeId, out: &Layout) -> Option<(f64, f64)> {
    let target = *plan.picture.node(id).initial.first()?;
    let rect = out.rects[target.index()]?;
    Some((rect.x - 30.0, rect.y + (rect.h / 2.0).min(18.0)))
}

/// Adds the composite's own box around its contents.
fn finish(plan: &LayoutInput<'_>, id: NodeId, boxed: bool, out: &mut Layout) {
    let writing = &plan.writings[id.index()];
    let right = out.rects.iter().flatten().map(Rect::right).fold(0.0, f64::max);
    let bottom = out.rects.iter().flatten().map(Rect::bottom).fold(0.0, f64::max);
    (out.width, out.height) = (right, bottom);
    if boxed {
        out.width = (right + SIDE).max(writing.width + PAD);
        out.height = (bottom + SIDE).max(writing.height + SIDE);
        out.rects[id.index()] = Some(Rect { x: 0.0, y: 0.0, w: out.width, h: out.height });
    }
}
