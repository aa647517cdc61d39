//! Attachment points of links on boxes: straight above or below the other end if possible, in the order of the other
//! ends, and never on top of each other.

use super::graph::{LayerLink, LayeredGraph, VertexKind};
use super::place::closest;

/// Room between two links at one side of a box, and between a link and the box's corner.
const APART: f64 = 18.0;
const CORNER: f64 = 12.0;
/// Maximum distance from the middle of a label at which a line may pass it.
const PASS: f64 = 8.0;
/// Weight of a link with a fixed attachment point: the other links give way.
const FIXED: f64 = 1e6;

pub(super) fn attach(graph: &mut LayeredGraph) {
    // Points first: boxes follow them. Twice, because two boxes that are linked directly follow each other.
    for at in 0..graph.links.len() {
        let link = graph.links[at];
        graph.links[at].upper_x =
            first_guess(graph, link.upper, link.upper_port, link.lower, link.lower_port);
        graph.links[at].lower_x =
            first_guess(graph, link.lower, link.lower_port, link.upper, link.upper_port);
    }
    for _ in 0..2 {
        for vertex in 0..graph.vertices.len() {
            if !graph.vertices[vertex].is_point() {
                share(graph, vertex, BoxSide::Lower);
                share(graph, vertex, BoxSide::Upper);
            }
        }
    }
}

/// The side of a box that links attach to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BoxSide {
    Upper,
    Lower,
}

fn first_guess(
    graph: &LayeredGraph,
    own: usize,
    port: Option<f64>,
    other: usize,
    other_port: Option<f64>,
) -> f64 {
    let (own, other) = (&graph.vertices[own], &graph.vertices[other]);
    if let Some(port) = port {
        return own.x + port;
    }
    if own.is_point() {
        return own.middle();
    }
    let wanted = match other_port {
        Some(port) => other.x + port,
        None if other.is_line() || other.is_point() => other.middle(),
        // Two boxes: the middle of where they overlap.
        None => {
            let (left, right) = (own.x.max(other.x), (own.x + own.w).min(other.x + other.w));
            if left + 2.0 * CORNER < right { (left + right) / 2.0 } else { other.middle() }
        }
    };
    let corner = CORNER.min(own.w / 2.0);
    within(wanted, own.x + corner, own.x + own.w - corner)
}

/// Links of one side of a box get places of their own.
fn share(graph: &mut LayeredGraph, vertex: usize, side: BoxSide) {
    let own =
        |link: &LayerLink| if side == BoxSide::Lower { link.upper == vertex } else { link.lower == vertex };
    let other = |link: &LayerLink| if side == BoxSide::Lower { link.lower_x } else { link.upper_x };
    let port = |link: &LayerLink| if side == BoxSide::Lower { link.upper_port } else { link.lower_port };
    let mut here: Vec<usize> = (0..graph.links.len()).filter(|at| own(&graph.links[*at])).collect();
    let PortSpace { left, right, count } = room(graph, vertex, here.len());
    if count == 0 {
        return;
    }
    let fixed_x = |at: usize| port(&graph.links[at]).map(|port| graph.vertices[vertex].x + port);
    here.sort_by(|a, b| {
        let key = |at: usize| fixed_x(at).unwrap_or_else(|| other(&graph.links[at]));
        key(*a).total_cmp(&key(*b))
    });
    // The middle part of a label or box; closer together where there are many.
    let apart = APART.min((right - left) / count as f64);
    let is_label = graph.vertices[vertex].kind == VertexKind::Label;
    let middle = graph.vertices[vertex].middle();
    let wish = |at: &usize| match fixed_x(*at) {
        Some(x) => (x, FIXED),
        // Beside the middle of a label only where that makes the line straight.
        None if is_label && !(left..=right).contains(&other(&graph.links[*at])) => (middle, 1.0),
        None => (within(other(&graph.links[*at]), left, right), 1.0),
    };
    let wishes: Vec<(f64, f64)> = here.iter().map(wish).collect();
    let places = closest(&wishes, &vec![apart; count - 1]);
    // Within the side, with room for those before and after.
    let bounded =
        |at: usize, x: f64| within(x, left + at as f64 * apart, right - (count - 1 - at) as f64 * apart);
    let places: Vec<f64> = places.into_iter().enumerate().map(|(at, x)| bounded(at, x)).collect();
    let places: Vec<f64> = here.iter().zip(places).map(|(at, x)| fixed_x(*at).unwrap_or(x)).collect();
    for (at, x) in here.into_iter().zip(places) {
        let link = &mut graph.links[at];
        match side {
            BoxSide::Lower => link.upper_x = x,
            BoxSide::Upper => link.lower_x = x,
        }
    }
}

/// Like `clamp`, which panics where rounding makes `high` a hair less than `low`.
fn within(x: f64, low: f64, high: f64) -> f64 {
    x.min(high).max(low)
}

struct PortSpace {
    left: f64,
    right: f64,
    count: usize,
}

fn room(graph: &LayeredGraph, vertex: usize, count: usize) -> PortSpace {
    let own = &graph.vertices[vertex];
    let corner = match own.kind {
        // A line passes a label near its middle: further out it would seem to belong to something else.
        VertexKind::Label => own.w / 2.0 - PASS,
        VertexKind::State(_) | VertexKind::Dot | VertexKind::Bend | VertexKind::Top | VertexKind::Bottom => {
            CORNER
        }
    };
    let corner = corner.clamp(0.0, own.w / 2.0);
    PortSpace { left: own.x + corner, right: own.x + own.w - corner, count }
}
