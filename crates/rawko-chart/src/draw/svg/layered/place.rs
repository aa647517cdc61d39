//! From left to right: every vertex is drawn towards what it is linked to, as far as its neighbours in the layer allow;
//! then lines that can be straight are made so.

use super::graph::LayeredGraph;

const ROUNDS: usize = 40;

pub(super) fn place(graph: &mut LayeredGraph) {
    for layer in graph.layers.clone() {
        let mut x = 0.0;
        for (at, vertex) in layer.iter().enumerate() {
            if at > 0 {
                x += graph.distance(layer[at - 1], *vertex);
            }
            graph.vertices[*vertex].x = x;
        }
    }
    let neighbours = neighbours(graph);
    for round in 0..ROUNDS {
        let count = graph.layers.len();
        // The last rounds look both ways; until then each sweep follows the layer it comes from.
        let both = round * 2 > ROUNDS;
        if round % 2 == 0 {
            (0..count).for_each(|layer| relax(graph, &neighbours, layer, both, true));
        } else {
            (0..count).rev().for_each(|layer| relax(graph, &neighbours, layer, both, false));
        }
    }
    for _ in 0..3 {
        straighten(graph);
    }
    let left = graph.vertices.iter().map(|v| v.x).fold(f64::MAX, f64::min);
    graph.vertices.iter_mut().for_each(|v| v.x -= left);
}

/// One end of a link, seen from the other.
#[derive(Clone, Copy)]
struct Neighbour {
    vertex: usize,
    is_above: bool,
    /// From the left of the neighbour's box, and of one's own.
    there: f64,
    here: f64,
    weight: f64,
}

fn neighbours(graph: &LayeredGraph) -> Vec<Vec<Neighbour>> {
    let mut all = vec![Vec::new(); graph.vertices.len()];
    for link in &graph.links {
        let (upper, lower) = (&graph.vertices[link.upper], &graph.vertices[link.lower]);
        let weight = match (upper.is_line(), lower.is_line()) {
            (true, true) => 8.0,
            (true, false) | (false, true) => 2.0,
            (false, false) => 1.0,
        };
        let above = link.upper_port.unwrap_or(upper.w / 2.0);
        let below = link.lower_port.unwrap_or(lower.w / 2.0);
        all[link.upper].push(Neighbour {
            vertex: link.lower,
            is_above: false,
            there: below,
            here: above,
            weight,
        });
        all[link.lower].push(Neighbour {
            vertex: link.upper,
            is_above: true,
            there: above,
            here: below,
            weight,
        });
    }
    all
}

/// Moves a layer as close to its neighbours as its order allows.
fn relax(graph: &mut LayeredGraph, neighbours: &[Vec<Neighbour>], layer: usize, both: bool, down: bool) {
    let vertices = graph.layers[layer].clone();
    let wish = |vertex: usize| {
        let seen: Vec<&Neighbour> =
            neighbours[vertex].iter().filter(|n| both || n.is_above == down).collect();
        let weight: f64 = seen.iter().map(|n| n.weight).sum();
        if weight == 0.0 {
            return (graph.vertices[vertex].x, 0.05);
        }
        let sum: f64 = seen.iter().map(|n| n.weight * (graph.vertices[n.vertex].x + n.there - n.here)).sum();
        (sum / weight, weight)
    };
    let wishes: Vec<(f64, f64)> = vertices.iter().map(|v| wish(*v)).collect();
    let apart: Vec<f64> = vertices.windows(2).map(|pair| graph.distance(pair[0], pair[1])).collect();
    for (vertex, x) in vertices.iter().zip(closest(&wishes, &apart)) {
        graph.vertices[*vertex].x = x;
    }
}

/// Places in order, each at least `apart` from the one before, with the least weighted sum of squared distances from
/// the wishes `(place, weight)`: the pool of adjacent violators.
pub(super) fn closest(wishes: &[(f64, f64)], apart: &[f64]) -> Vec<f64> {
    let mut offset = 0.0;
    let mut offsets = Vec::with_capacity(wishes.len());
    let mut pools: Vec<(f64, f64, usize)> = Vec::new();
    for (at, (place, weight)) in wishes.iter().enumerate() {
        if at > 0 {
            offset += apart[at - 1];
        }
        offsets.push(offset);
        let mut pool = (place - offset, *weight, 1);
        while let Some(before) = pools.last().copied().filter(|before| before.0 > pool.0) {
            pools.pop();
            let weight = before.1 + pool.1;
            pool = ((before.0 * before.1 + pool.0 * pool.1) / weight, weight, before.2 + pool.2);
        }
        pools.push(pool);
    }
    let level = pools.iter().flat_map(|(place, _, count)| std::iter::repeat_n(*place, *count));
    level.zip(offsets).map(|(place, offset)| place + offset).collect()
}

/// Gives all bends and labels of a line the same middle where their neighbours leave room for that.
fn straighten(graph: &mut LayeredGraph) {
    let places = graph.places();
    for chain in chains(graph) {
        let (mut low, mut high) = (f64::MIN, f64::MAX);
        for vertex in &chain {
            let layer = &graph.layers[graph.vertices[*vertex].layer];
            let half = graph.vertices[*vertex].w / 2.0;
            if let Some(left) = places[*vertex].checked_sub(1).map(|at| layer[at]) {
                low = low.max(graph.vertices[left].x + graph.distance(left, *vertex) + half);
            }
            if let Some(right) = layer.get(places[*vertex] + 1) {
                high = high.min(graph.vertices[*right].x - graph.distance(*vertex, *right) + half);
            }
        }
        if low > high {
            continue;
        }
        let middle = chain.iter().map(|v| graph.vertices[*v].middle()).sum::<f64>() / chain.len() as f64;
        let middle = middle.clamp(low, high);
        for vertex in chain {
            graph.vertices[vertex].x = middle - graph.vertices[vertex].w / 2.0;
        }
    }
}

/// Runs of bends and labels that belong to one line, from the top.
fn chains(graph: &LayeredGraph) -> Vec<Vec<usize>> {
    let is_line = |vertex: usize| graph.vertices[vertex].is_line();
    let mut next = vec![None; graph.vertices.len()];
    let mut has_previous = vec![false; graph.vertices.len()];
    for link in graph.links.iter().filter(|l| is_line(l.upper) && is_line(l.lower)) {
        next[link.upper] = Some(link.lower);
        has_previous[link.lower] = true;
    }
    let starts = (0..graph.vertices.len()).filter(|v| is_line(*v) && !has_previous[*v] && next[*v].is_some());
    starts.map(|start| std::iter::successors(Some(start), |v| next[*v]).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn places_are_as_near_to_the_wishes_as_their_distances_allow() {
        // (wishes with weights, places), all 10 apart
        let table = [
            (vec![], vec![]),
            (vec![(3.0, 1.0)], vec![3.0]),
            (vec![(0.0, 1.0), (50.0, 1.0)], vec![0.0, 50.0]),
            // Both give way by half.
            (vec![(0.0, 1.0), (0.0, 1.0)], vec![-5.0, 5.0]),
            // A heavier vertex moves less, and a pushed vertex pushes its neighbour.
            (vec![(0.0, 3.0), (0.0, 1.0), (12.0, 0.0001)], vec![-2.5, 7.5, 17.5]),
        ];
        for (wishes, expected) in table {
            let places = closest(&wishes, &vec![10.0; wishes.len().saturating_sub(1)]);
            let is_near = places.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 0.01);
            assert!(is_near && places.len() == expected.len(), "{wishes:?}: {places:?}, not {expected:?}");
        }
    }
}
