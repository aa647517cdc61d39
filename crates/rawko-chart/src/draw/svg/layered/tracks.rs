//! From top to bottom: how high layers and the gaps between them are, and at which height a link that has to go sideways
//! does so. Two of them never run over each other, and cross as little as the order of heights allows.

use super::graph::{LayeredGraph, VertexKind};
use crate::draw::svg::layout::LayoutPoint;

const TRACK: f64 = 11.0;
/// From a layer to the first track, which leaves room for an arrowhead, and to a layer without a track between.
const BESIDE: f64 = 14.0;
const GAP: f64 = 24.0;
/// Gap above a layer that lines only pass through.
const GAP_OF_LABELS: f64 = 16.0;
/// Nearer than this, two lines are one to a reader.
const NEAR: f64 = 6.0;

/// A link that goes sideways.
#[derive(Clone, Copy)]
struct SidewaysLink {
    link: usize,
    upper_x: f64,
    lower_x: f64,
}

impl SidewaysLink {
    fn left(&self) -> f64 {
        self.upper_x.min(self.lower_x)
    }
    fn right(&self) -> f64 {
        self.upper_x.max(self.lower_x)
    }
    fn covers(&self, x: f64) -> bool {
        self.left() - NEAR < x && x < self.right() + NEAR
    }
    fn meets(&self, other: &SidewaysLink) -> bool {
        self.left() - NEAR < other.right() && other.left() - NEAR < self.right()
    }
}

/// Heights for everything; gives the points of each link, from its upper end to its lower one, and the whole height.
pub(super) fn route(graph: &mut LayeredGraph, top_aligned: bool) -> (Vec<Vec<LayoutPoint>>, f64) {
    let count = graph.layers.len();
    let mut heights = vec![0.0; graph.links.len()];
    let mut y = 0.0;
    for layer in 0..count {
        let high = graph.layers[layer].iter().map(|v| graph.vertices[*v].h).fold(0.0, f64::max);
        for at in graph.layers[layer].clone() {
            let part = if top_aligned { 0.0 } else { alignment(graph, at) };
            let vertex = &mut graph.vertices[at];
            vertex.y = y + (high - vertex.h) * part;
        }
        y += high;
        if layer + 1 == count {
            break;
        }
        let steps = steps(graph, layer);
        let tracks = tracks(&steps);
        let rows = tracks.iter().max().map_or(0, |most| most + 1);
        for (step, track) in steps.iter().zip(&tracks) {
            heights[step.link] = y + BESIDE + *track as f64 * TRACK;
        }
        y += if rows == 0 { straight_gap(graph, layer) } else { 2.0 * BESIDE + (rows - 1) as f64 * TRACK };
    }
    let points = graph.links.iter().zip(&heights).map(|(link, height)| {
        let (upper, lower) = (&graph.vertices[link.upper], &graph.vertices[link.lower]);
        let (from, to) = ((link.upper_x, upper.y + upper.h), (link.lower_x, lower.y));
        if (from.0 - to.0).abs() < 0.5 {
            vec![from, to]
        } else {
            vec![from, (from.0, *height), (to.0, *height), to]
        }
    });
    (points.collect(), y)
}

/// Beside something much higher, a state stands near what it is linked to: 0 is the top of the layer, 1 its bottom.
fn alignment(graph: &LayeredGraph, vertex: usize) -> f64 {
    let has_above = graph.links.iter().any(|link| link.lower == vertex);
    let has_below = graph.links.iter().any(|link| link.upper == vertex);
    match (graph.vertices[vertex].kind, has_above, has_below) {
        (VertexKind::State(_), true, false) => 0.0,
        (VertexKind::State(_) | VertexKind::Dot, false, true) => 1.0,
        _ => 0.5,
    }
}

/// Between two layers of which one is only borders, there is nothing to keep apart.
fn straight_gap(graph: &LayeredGraph, layer: usize) -> f64 {
    let only = |layer: usize, kinds: &[VertexKind]| {
        graph.layers[layer].iter().all(|v| kinds.contains(&graph.vertices[*v].kind))
    };
    if only(layer, &[VertexKind::Top]) || only(layer + 1, &[VertexKind::Bottom]) {
        return 6.0;
    }
    let passes = |layer: usize| graph.layers[layer].iter().all(|v| graph.vertices[*v].is_line());
    if passes(layer) || only(layer, &[VertexKind::Dot]) {
        GAP - 4.0
    } else if passes(layer + 1) {
        GAP_OF_LABELS
    } else {
        GAP
    }
}

fn steps(graph: &mut LayeredGraph, layer: usize) -> Vec<SidewaysLink> {
    let mut steps = Vec::new();
    for at in 0..graph.links.len() {
        let link = graph.links[at];
        if graph.vertices[link.upper].layer == layer && (link.upper_x - link.lower_x).abs() >= 0.5 {
            steps.push(SidewaysLink { link: at, upper_x: link.upper_x, lower_x: link.lower_x });
        }
    }
    steps
}

/// The track of each step, counted from the top.
fn tracks(steps: &[SidewaysLink]) -> Vec<usize> {
    let order = by_crossings(steps);
    let mut tracks = vec![0; steps.len()];
    for (place, at) in order.iter().enumerate() {
        let above = order[..place].iter().filter(|other| steps[**other].meets(&steps[*at]));
        tracks[*at] = above.map(|other| tracks[*other] + 1).max().unwrap_or(0);
    }
    tracks
}

/// From the top: always the step that is best above all that are left.
fn by_crossings(steps: &[SidewaysLink]) -> Vec<usize> {
    let mut left: Vec<usize> = (0..steps.len()).collect();
    let mut order = Vec::with_capacity(steps.len());
    while !left.is_empty() {
        let cost = |at: usize| -> f64 {
            let others = left.iter().filter(|other| **other != at).map(|other| &steps[*other]);
            others.map(|other| above(&steps[at], other) - above(other, &steps[at])).sum()
        };
        let best = left.iter().copied().min_by(|a, b| cost(*a).total_cmp(&cost(*b)));
        let Some(best) = best else { break };
        left.retain(|at| *at != best);
        order.push(best);
    }
    order
}

/// Returns the cost of placing `a` above `b`: crossings, and a penalty if one line hides the other.
fn above(a: &SidewaysLink, b: &SidewaysLink) -> f64 {
    let crossings = f64::from(u8::from(a.covers(b.upper_x))) + f64::from(u8::from(b.covers(a.lower_x)));
    let hidden = if (a.lower_x - b.upper_x).abs() < NEAR { 10.0 } else { 0.0 };
    crossings + hidden
}
