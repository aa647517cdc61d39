//! Which layer every vertex is in. Links run down, as short as they can be without moving anything for long; then long
//! links get a bend in every layer they pass.

use std::collections::BTreeSet;

use super::graph::{LayerLink, LayeredGraph, Vertex, VertexKind};

/// More rounds than any real chart needs.
const ROUNDS_MAX: usize = 64;

pub(super) fn assign(graph: &mut LayeredGraph, one_row: bool) {
    let ranks = if one_row { row(graph) } else { ranks(graph) };
    for (vertex, rank) in graph.vertices.iter_mut().zip(&ranks) {
        vertex.layer = *rank;
    }
    split_long_links(graph);
    let count = graph.vertices.iter().map(|v| v.layer + 1).max().unwrap_or(0);
    graph.layers = vec![Vec::new(); count];
    for (at, vertex) in graph.vertices.iter().enumerate() {
        graph.layers[vertex.layer].push(at);
    }
}

/// Regions of a parallel state stand side by side; labels of arrows between them and its border above or below.
fn row(graph: &LayeredGraph) -> Vec<usize> {
    let is_above = |at: usize| {
        graph.links.iter().any(|l| l.lower == at && graph.vertices[l.upper].kind == VertexKind::Top)
    };
    let rank = |(at, vertex): (usize, &Vertex)| match vertex.kind {
        VertexKind::Top => 0,
        VertexKind::Label if is_above(at) => 1,
        VertexKind::State(_) | VertexKind::Dot | VertexKind::Bend => 2,
        VertexKind::Label => 3,
        VertexKind::Bottom => 4,
    };
    let ranks: Vec<usize> = graph.vertices.iter().enumerate().map(rank).collect();
    // Without gaps where a rank is empty.
    let used: BTreeSet<usize> = ranks.iter().copied().collect();
    ranks.iter().map(|rank| used.range(..rank).count()).collect()
}

/// Longest paths from above, then every vertex moves towards the side where it has more links.
fn ranks(graph: &LayeredGraph) -> Vec<usize> {
    let count = graph.vertices.len();
    let mut ranks = vec![0_usize; count];
    // As many rounds as the longest path has links; without cycles it ends.
    for _ in 0..=count {
        let mut moved = false;
        for link in &graph.links {
            if ranks[link.lower] < ranks[link.upper] + 1 {
                ranks[link.lower] = ranks[link.upper] + 1;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    for _ in 0..ROUNDS_MAX {
        if !tighten(graph, &mut ranks) {
            break;
        }
    }
    pin_borders(graph, &mut ranks);
    spread_labels(graph, &mut ranks);
    ranks
}

/// A label of a long arrow goes into the narrowest of the layers that it can be in; of equals, into the middle one. A
/// state with many arrows would otherwise have all labels in one wide row.
fn spread_labels(graph: &LayeredGraph, ranks: &mut [usize]) {
    let count = ranks.iter().max().map_or(0, |most| most + 1);
    let mut widths = vec![0.0; count];
    for (vertex, rank) in graph.vertices.iter().zip(ranks.iter()) {
        widths[*rank] += vertex.w + vertex.margin + graph.apart;
    }
    for (label, vertex) in graph.vertices.iter().enumerate().filter(|(_, v)| v.kind == VertexKind::Label) {
        let above = graph.links.iter().find(|l| l.lower == label).map(|l| ranks[l.upper] + 1);
        let below = graph.links.iter().find(|l| l.upper == label).and_then(|l| ranks[l.lower].checked_sub(1));
        let (Some(first), Some(last)) = (above, below) else { continue };
        if first >= last {
            continue;
        }
        let own = vertex.w + graph.apart;
        widths[ranks[label]] -= own;
        let off_middle = |rank: usize| (2 * rank).abs_diff(first + last);
        let narrowest = (first..=last)
            .min_by(|a, b| widths[*a].total_cmp(&widths[*b]).then(off_middle(*a).cmp(&off_middle(*b))));
        ranks[label] = narrowest.unwrap_or(ranks[label]);
        widths[ranks[label]] += own;
    }
}

fn tighten(graph: &LayeredGraph, ranks: &mut [usize]) -> bool {
    let mut moved = false;
    for vertex in 0..ranks.len() {
        let above = graph.links.iter().filter(|l| l.lower == vertex).map(|l| ranks[l.upper] + 1);
        let below = graph.links.iter().filter(|l| l.upper == vertex).map(|l| ranks[l.lower] - 1);
        let (ins, outs) = (above.clone().count(), below.clone().count());
        let wanted = match (above.max(), below.min()) {
            (_, Some(lowest)) if outs > ins => lowest,
            (Some(highest), _) if ins > outs => highest,
            _ => ranks[vertex],
        };
        moved |= wanted != ranks[vertex];
        ranks[vertex] = wanted;
    }
    moved
}

/// Moves points on the upper border above all other vertices, and points on the lower border below them.
fn pin_borders(graph: &LayeredGraph, ranks: &mut [usize]) {
    let of = |kind: VertexKind| graph.vertices.iter().enumerate().filter(move |(_, v)| v.kind == kind);
    let inner = |ranks: &[usize]| {
        let ranks = graph
            .vertices
            .iter()
            .zip(ranks)
            .filter(|(v, _)| !matches!(v.kind, VertexKind::Top | VertexKind::Bottom));
        ranks.map(|(_, rank)| *rank).collect::<Vec<_>>()
    };
    let shift = usize::from(of(VertexKind::Top).next().is_some());
    let first = inner(ranks).into_iter().min().unwrap_or(0);
    for (vertex, rank) in graph.vertices.iter().zip(ranks.iter_mut()) {
        *rank = if vertex.kind == VertexKind::Top { 0 } else { (*rank + shift).saturating_sub(first) };
    }
    let last = inner(ranks).into_iter().max().unwrap_or(0);
    for (at, _) in of(VertexKind::Bottom) {
        ranks[at] = last + 1;
    }
}

fn split_long_links(graph: &mut LayeredGraph) {
    for link in std::mem::take(&mut graph.links) {
        let (from, to) = (graph.vertices[link.upper].layer, graph.vertices[link.lower].layer);
        let mut upper = link.upper;
        for layer in from + 1..to {
            let bend = graph.add(Vertex { layer, ..Vertex::new(VertexKind::Bend, 0.0, 0.0) });
            let mut piece = LayerLink::new(link.arrow, upper, bend);
            piece.upper_port = if upper == link.upper { link.upper_port } else { None };
            graph.links.push(piece);
            upper = bend;
        }
        let upper_port = if upper == link.upper { link.upper_port } else { None };
        graph.links.push(LayerLink { upper, upper_port, ..link });
    }
}
