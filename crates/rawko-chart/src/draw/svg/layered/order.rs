//! The order within layers: sweeps by barycentres, then neighbours change places while that saves crossings. The best
//! order seen is kept, and the first of equals, which is closest to the order in the text.

use super::graph::{LayerLink, LayeredGraph};

const SWEEPS: usize = 16;
const EXCHANGES_MAX: usize = 8;
/// Beyond this, exchanging neighbours costs more than a reader gains.
const EXCHANGE_LINKS_MAX: usize = 600;

pub(super) fn reduce_crossings(graph: &mut LayeredGraph) {
    let gaps = gaps(graph);
    let mut best = (crossings(graph, &gaps), graph.layers.clone());
    for sweep in 0..SWEEPS {
        if best.0 == 0 {
            break;
        }
        let count = graph.layers.len();
        if sweep % 2 == 0 {
            (1..count).for_each(|layer| by_barycentre(graph, layer, &gaps[layer - 1], LayerSide::Above));
        } else {
            (0..count.saturating_sub(1))
                .rev()
                .for_each(|layer| by_barycentre(graph, layer, &gaps[layer], LayerSide::Below));
        }
        exchange(graph, &gaps);
        let found = crossings(graph, &gaps);
        if found < best.0 {
            best = (found, graph.layers.clone());
        }
    }
    graph.layers = best.1;
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LayerSide {
    Above,
    Below,
}

/// The links between each layer and the next.
fn gaps(graph: &LayeredGraph) -> Vec<Vec<LayerLink>> {
    let mut gaps = vec![Vec::new(); graph.layers.len()];
    for link in &graph.links {
        gaps[graph.vertices[link.upper].layer].push(*link);
    }
    gaps
}

/// Returns the attachment point of a link, in places of its layer. Ports distinguish the links of one box.
fn upper_at(graph: &LayeredGraph, places: &[usize], link: &LayerLink) -> f64 {
    places[link.upper] as f64 + part(link.upper_port, graph.vertices[link.upper].w)
}

fn lower_at(graph: &LayeredGraph, places: &[usize], link: &LayerLink) -> f64 {
    places[link.lower] as f64 + part(link.lower_port, graph.vertices[link.lower].w)
}

fn part(port: Option<f64>, wide: f64) -> f64 {
    port.map_or(0.0, |x| (x / wide.max(1.0) - 0.5) * 0.9)
}

fn by_barycentre(graph: &mut LayeredGraph, layer: usize, gap: &[LayerLink], side: LayerSide) {
    let places = graph.places();
    let centre = |vertex: usize| {
        let ends: Vec<f64> = gap
            .iter()
            .filter_map(|link| match side {
                LayerSide::Above => (link.lower == vertex).then(|| upper_at(graph, &places, link)),
                LayerSide::Below => (link.upper == vertex).then(|| lower_at(graph, &places, link)),
            })
            .collect();
        (!ends.is_empty()).then(|| ends.iter().sum::<f64>() / ends.len() as f64)
    };
    // Vertices without links on this side keep their places; the others are sorted around them.
    let current = graph.layers[layer].clone();
    let mut moving: Vec<(f64, usize)> = current.iter().filter_map(|v| Some((centre(*v)?, *v))).collect();
    moving.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut moving = moving.into_iter().map(|(_, v)| v);
    let has_links: Vec<bool> = current.iter().map(|v| centre(*v).is_some()).collect();
    let sorted =
        current.iter().zip(has_links).map(|(v, moves)| if moves { moving.next().unwrap_or(*v) } else { *v });
    graph.layers[layer] = sorted.collect();
}

/// Neighbours change places where that leaves fewer crossings.
fn exchange(graph: &mut LayeredGraph, gaps: &[Vec<LayerLink>]) {
    if graph.links.len() > EXCHANGE_LINKS_MAX {
        return;
    }
    for _ in 0..EXCHANGES_MAX {
        let mut improved = false;
        for layer in 0..graph.layers.len() {
            for at in 1..graph.layers[layer].len() {
                let before = around(graph, gaps, layer);
                graph.layers[layer].swap(at - 1, at);
                if around(graph, gaps, layer) < before {
                    improved = true;
                } else {
                    graph.layers[layer].swap(at - 1, at);
                }
            }
        }
        if !improved {
            break;
        }
    }
}

fn around(graph: &LayeredGraph, gaps: &[Vec<LayerLink>], layer: usize) -> usize {
    let places = graph.places();
    let above = layer.checked_sub(1).map_or(0, |gap| crossings_in(graph, &places, &gaps[gap]));
    above + crossings_in(graph, &places, &gaps[layer])
}

fn crossings(graph: &LayeredGraph, gaps: &[Vec<LayerLink>]) -> usize {
    let places = graph.places();
    gaps.iter().map(|gap| crossings_in(graph, &places, gap)).sum()
}

fn crossings_in(graph: &LayeredGraph, places: &[usize], gap: &[LayerLink]) -> usize {
    let mut ends: Vec<(f64, f64)> =
        gap.iter().map(|l| (upper_at(graph, places, l), lower_at(graph, places, l))).collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let pairs = ends.iter().enumerate();
    pairs.map(|(at, end)| ends[..at].iter().filter(|other| other.0 < end.0 && other.1 > end.1).count()).sum()
}
