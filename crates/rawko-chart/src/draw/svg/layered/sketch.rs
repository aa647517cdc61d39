//! Layout of one composite: its children, laid out first, become vertices of the layered algorithm; the result is then
//! moved into the composite's own coordinates.

use std::collections::BTreeMap;

use rawko_core::{NodeId, NodeKind};

use super::graph::{LayerLink, LayeredGraph, Vertex, VertexKind};
use super::requests::{ArrowEnd, ArrowPiece, RouteRequests};
use super::{layers, order, place, ports, tracks};
use crate::draw::svg::boxes::{DOT, REGION_GAP};
use crate::draw::svg::layout::{ArrowRoute, Layout, LayoutInput, LayoutPoint, Rect};

const APART: f64 = 28.0;
const SIDE: f64 = 18.0;
const REGION_SIDE: f64 = 10.0;
/// From a box to the label of its loop, and between two such labels.
const LOOP_REACH: f64 = 22.0;
const LOOP_APART: f64 = 4.0;

/// A composite that is laid out, at (0, 0), with the places where arrows cross its border.
#[derive(Default)]
pub(super) struct Block {
    pub(super) layout: Layout,
    top: BTreeMap<usize, f64>,
    bottom: BTreeMap<usize, f64>,
}

/// Working state while a composite is laid out.
struct Sketch<'a> {
    plan: &'a LayoutInput<'a>,
    id: NodeId,
    wanted: &'a RouteRequests,
    graph: LayeredGraph,
    by_place: BTreeMap<ArrowEnd, usize>,
    inside: BTreeMap<NodeId, Block>,
    /// Vertices of labels and of border crossings, by arrow.
    labels: BTreeMap<usize, usize>,
    tops: BTreeMap<usize, usize>,
    bottoms: BTreeMap<usize, usize>,
}

pub(super) fn composite(
    plan: &LayoutInput<'_>,
    id: NodeId,
    wanted: &RouteRequests,
    blocks: &BTreeMap<NodeId, Layout>,
    bare: bool,
) -> Block {
    let mut sketch = Sketch {
        plan,
        id,
        wanted,
        graph: LayeredGraph { apart: APART, ..LayeredGraph::default() },
        by_place: BTreeMap::new(),
        inside: BTreeMap::new(),
        labels: BTreeMap::new(),
        tops: BTreeMap::new(),
        bottoms: BTreeMap::new(),
    };
    sketch.children(blocks);
    wanted.pieces(id).iter().for_each(|piece| sketch.link(piece));
    let is_parallel = plan.picture.node(id).kind == NodeKind::Parallel;
    if is_parallel {
        sketch.graph.apart = REGION_GAP;
    }
    layers::assign(&mut sketch.graph, is_parallel);
    order::reduce_crossings(&mut sketch.graph);
    place::place(&mut sketch.graph);
    ports::attach(&mut sketch.graph);
    let (points, height) = tracks::route(&mut sketch.graph, is_parallel);
    sketch.finish(&points, height, bare)
}

impl Sketch<'_> {
    fn children(&mut self, blocks: &BTreeMap<NodeId, Layout>) {
        if self.plan.has_dot(self.id) {
            let dot = self.graph.add(Vertex::new(VertexKind::Dot, DOT, DOT));
            self.by_place.insert(ArrowEnd::Dot, dot);
        }
        for child in self.plan.picture.node(self.id).children.clone() {
            let block = match blocks.get(&child) {
                Some(laid) => Block { layout: laid.clone(), ..Block::default() },
                None if self.plan.picture.node(child).is_composite() => {
                    composite(self.plan, child, self.wanted, blocks, false)
                }
                None => self.leaf(child),
            };
            let (w, h) = (block.layout.width, block.layout.height);
            let (margin, least) = self.room_for_loops(child);
            let vertex = Vertex { margin, ..Vertex::new(VertexKind::State(child), w, h.max(least)) };
            let at = self.graph.add(vertex);
            self.by_place.insert(ArrowEnd::Child(child), at);
            self.inside.insert(child, block);
        }
    }

    fn leaf(&self, id: NodeId) -> Block {
        let writing = &self.plan.writings[id.index()];
        let mut layout = Layout::empty(self.plan);
        layout.rects[id.index()] = Some(Rect { x: 0.0, y: 0.0, w: writing.width, h: writing.height });
        (layout.width, layout.height) = (writing.width, writing.height);
        Block { layout, ..Block::default() }
    }

    /// Loops are drawn at the right of a box, their labels beside them: how wide that is, and how high.
    fn room_for_loops(&self, id: NodeId) -> (f64, f64) {
        let labels = self.wanted.loops(id).iter().map(|at| self.plan.arrows[*at].label.as_ref());
        let sizes = labels.map(|label| label.map_or((0.0, 0.0), |l| (l.width, l.height)));
        sizes.fold((0.0, 0.0), |(wide, high), (w, h)| (f64::max(wide, w + LOOP_REACH), high + h + LOOP_APART))
    }

    /// A piece of an arrow: through a label where it has one here.
    fn link(&mut self, piece: &ArrowPiece) {
        let (Some(upper), Some(lower)) = (self.end(piece, piece.upper), self.end(piece, piece.lower)) else {
            return;
        };
        let label = self.plan.arrows[piece.arrow].label.as_ref().filter(|_| piece.is_labelled);
        let mut first = LayerLink::new(piece.arrow, upper, lower);
        first.upper_port = self.port(piece.upper, |block| block.bottom.get(&piece.arrow).copied());
        first.lower_port = self.port(piece.lower, |block| block.top.get(&piece.arrow).copied());
        let Some(label) = label else {
            self.graph.links.push(first);
            return;
        };
        let vertex = self.graph.add(Vertex::new(VertexKind::Label, label.width, label.height));
        self.labels.insert(piece.arrow, vertex);
        self.graph.links.push(LayerLink { lower: vertex, lower_port: None, ..first });
        self.graph.links.push(LayerLink { upper: vertex, upper_port: None, ..first });
    }

    fn port(&self, place: ArrowEnd, of: impl Fn(&Block) -> Option<f64>) -> Option<f64> {
        match place {
            ArrowEnd::Child(child) => self.inside.get(&child).and_then(of),
            ArrowEnd::Dot | ArrowEnd::Top | ArrowEnd::Bottom => None,
        }
    }

    fn end(&mut self, piece: &ArrowPiece, place: ArrowEnd) -> Option<usize> {
        match place {
            ArrowEnd::Child(_) | ArrowEnd::Dot => self.by_place.get(&place).copied(),
            ArrowEnd::Top => {
                let at = self.graph.add(Vertex::new(VertexKind::Top, 0.0, 0.0));
                self.tops.insert(piece.arrow, at);
                Some(at)
            }
            ArrowEnd::Bottom => {
                let at = self.graph.add(Vertex::new(VertexKind::Bottom, 0.0, 0.0));
                self.bottoms.insert(piece.arrow, at);
                Some(at)
            }
        }
    }

    fn finish(self, points: &[Vec<LayoutPoint>], height: f64, bare: bool) -> Block {
        let writing = &self.plan.writings[self.id.index()];
        let side = if self.plan.picture.is_region(self.id) { REGION_SIDE } else { SIDE };
        let inner = self.graph.vertices.iter().map(|v| v.x + v.w + v.margin).fold(0.0, f64::max);
        let (mut left, top) = if bare { (0.0, 0.0) } else { (side, writing.height + 14.0) };
        let width = if bare { inner } else { (inner + 2.0 * side).max(writing.width) };
        let height = if bare { height } else { (height + top + side).max(writing.height + 30.0) };
        if !bare {
            left = (width - inner) / 2.0;
        }
        let mut out = Layout::empty(self.plan);
        for vertex in &self.graph.vertices {
            match vertex.kind {
                VertexKind::State(child) => self.put(&mut out, child, vertex, (left, top)),
                VertexKind::Dot => {
                    let dot = (left + vertex.middle(), top + vertex.y + vertex.h / 2.0);
                    out.dots[self.id.index()] = Some(dot);
                }
                VertexKind::Label | VertexKind::Bend | VertexKind::Top | VertexKind::Bottom => {}
            }
        }
        (out.width, out.height) = (width, height);
        for piece in self.wanted.pieces(self.id) {
            let route = self.route(piece, points, (left, top), height, &out);
            out.routes[piece.arrow] = route;
        }
        if !bare {
            out.rects[self.id.index()] = Some(Rect { x: 0.0, y: 0.0, w: width, h: height });
        }
        let crossing = |at: &usize| self.graph.vertices[*at].x + left;
        let top_ports = self.tops.iter().map(|(arrow, at)| (*arrow, crossing(at))).collect();
        let bottom_ports = self.bottoms.iter().map(|(arrow, at)| (*arrow, crossing(at))).collect();
        Block { layout: out, top: top_ports, bottom: bottom_ports }
    }

    /// A child where its vertex is, with its loops.
    fn put(&self, out: &mut Layout, child: NodeId, vertex: &Vertex, (left, top): LayoutPoint) {
        let Some(block) = self.inside.get(&child) else { return };
        // Loops may need more height than the box has.
        let y = top + vertex.y + (vertex.h - block.layout.height) / 2.0;
        let x = left + vertex.x;
        out.absorb(&block.layout, x, y);
        let rect = Rect { x, y, w: block.layout.width, h: block.layout.height };
        self.put_loops(out, child, rect);
    }

    /// One below the other: each has its part of the box's side, and its label beside that.
    fn put_loops(&self, out: &mut Layout, child: NodeId, rect: Rect) {
        let arrows = self.wanted.loops(child);
        let part = rect.h / arrows.len().max(1) as f64;
        let middles: Vec<f64> = (0..arrows.len()).map(|at| rect.y + part * (at as f64 + 0.5)).collect();
        let labels: Vec<_> = arrows.iter().map(|at| self.plan.arrows[*at].label.as_ref()).collect();
        let high = |at: usize| labels[at].map_or(0.0, |label| label.height);
        let apart: Vec<f64> =
            (1..labels.len()).map(|at| (high(at - 1) + high(at)) / 2.0 + LOOP_APART).collect();
        let wishes: Vec<(f64, f64)> = middles.iter().map(|y| (*y, 1.0)).collect();
        let beside = place::closest(&wishes, &apart);
        for (at, arrow) in arrows.iter().enumerate() {
            let (y, half) = (middles[at], (part / 2.0 - 2.0).clamp(2.0, 8.0));
            let (right, line) = (rect.right(), rect.right() + LOOP_REACH - 2.0);
            let label = labels[at].map(|label| Rect {
                x: line + 2.0,
                y: beside[at] - label.height / 2.0,
                w: label.width,
                h: label.height,
            });
            let points = vec![(right, y - half), (line, y - half), (line, y + half), (right, y + half)];
            out.routes[*arrow] = ArrowRoute { points, label };
        }
    }

    /// Returns the points of a piece from top to bottom, joined with the routes inside the boxes at its ends.
    fn route(
        &self,
        piece: &ArrowPiece,
        points: &[Vec<LayoutPoint>],
        (left, top): LayoutPoint,
        height: f64,
        out: &Layout,
    ) -> ArrowRoute {
        let moved = |(x, y): LayoutPoint| (x + left, y + top);
        let mut all: Vec<LayoutPoint> = Vec::new();
        let mut label = None;
        if let ArrowEnd::Child(child) = piece.upper {
            self.extend_inner(&mut all, &mut label, piece.arrow, child, out);
        }
        let ends = |place: ArrowEnd| self.by_place.get(&place).copied();
        // Links of one arrow were made, and split, from the top to the bottom.
        let own = self.graph.links.iter().zip(points).filter(|(link, _)| link.arrow == piece.arrow);
        for (link, points) in own {
            if self.tops.get(&piece.arrow) == Some(&link.upper) {
                all.push((link.upper_x + left, 0.0));
            } else if Some(link.upper) == ends(piece.upper) {
                self.reach_box(&mut all, piece.upper, link.upper_x + left, out, |rect| rect.bottom());
            } else if self.labels.get(&piece.arrow) == Some(&link.upper) {
                // Inside the label, which covers it, the line may change sides.
                let vertex = &self.graph.vertices[link.upper];
                let middle = vertex.y + vertex.h / 2.0 + top;
                if let Some(last) = all.last().copied() {
                    all.extend([(last.0, middle), (link.upper_x + left, middle)]);
                }
            }
            all.extend(points.iter().copied().map(moved));
            if self.bottoms.get(&piece.arrow) == Some(&link.lower) {
                all.push((link.lower_x + left, height));
            } else if Some(link.lower) == ends(piece.lower) {
                self.reach_box(&mut all, piece.lower, link.lower_x + left, out, |rect| rect.y);
            }
        }
        if let Some(vertex) = self.labels.get(&piece.arrow).map(|at| &self.graph.vertices[*at]) {
            label = Some(Rect { x: vertex.x + left, y: vertex.y + top, w: vertex.w, h: vertex.h });
        }
        if let ArrowEnd::Child(child) = piece.lower {
            self.extend_inner(&mut all, &mut label, piece.arrow, child, out);
        }
        ArrowRoute { points: all, label }
    }

    /// Extends the line to a box that is lower than its vertex.
    fn reach_box(
        &self,
        all: &mut Vec<LayoutPoint>,
        place: ArrowEnd,
        x: f64,
        out: &Layout,
        side: impl Fn(Rect) -> f64,
    ) {
        if let ArrowEnd::Child(child) = place
            && let Some(rect) = out.rects[child.index()]
        {
            all.push((x, side(rect)));
        }
    }

    fn extend_inner(
        &self,
        all: &mut Vec<LayoutPoint>,
        label: &mut Option<Rect>,
        arrow: usize,
        child: NodeId,
        out: &Layout,
    ) {
        let Some(block) = self.inside.get(&child) else { return };
        let (inner, Some(now), Some(then)) =
            (&block.layout.routes[arrow], out.rects[child.index()], block.layout.rects[child.index()])
        else {
            return;
        };
        let (x, y) = (now.x - then.x, now.y - then.y);
        all.extend(inner.points.iter().map(|p| (p.0 + x, p.1 + y)));
        *label = inner.label.map(|r| Rect { x: r.x + x, y: r.y + y, ..r }).or(*label);
    }
}
