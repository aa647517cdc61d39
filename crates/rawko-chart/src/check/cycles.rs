//! Strongly connected components of a directed graph, without recursion, because charts are untrusted.

/// Successors of each vertex, packed.
#[derive(Default)]
pub(crate) struct Successors {
    first: Vec<u32>,
    list: Vec<u32>,
}

impl Successors {
    /// Adds the list of the next vertex, filled by `fill`.
    pub(crate) fn push(&mut self, fill: impl FnOnce(&mut Vec<u32>)) {
        self.first.push(self.list.len() as u32);
        fill(&mut self.list);
    }

    pub(crate) fn len(&self) -> usize {
        self.first.len()
    }

    pub(crate) fn of(&self, vertex: u32) -> &[u32] {
        let start = self.first[vertex as usize] as usize;
        let end = self.first.get(vertex as usize + 1).map_or(self.list.len(), |end| *end as usize);
        &self.list[start..end]
    }
}

const UNSEEN: u32 = u32::MAX;

/// Returns the component of every vertex on a cycle; `None` for the others.
pub(crate) fn components(graph: &Successors) -> Vec<Option<u32>> {
    let size = graph.len();
    let mut search = CycleSearch {
        graph,
        order: vec![UNSEEN; size],
        low: vec![0; size],
        open: vec![false; size],
        stack: Vec::new(),
        component: vec![None; size],
        visited: 0,
        found: 0,
    };
    for vertex in 0..size as u32 {
        if search.order[vertex as usize] == UNSEEN {
            search.run(vertex);
        }
    }
    search.component
}

/// Tarjan's algorithm with an explicit call stack.
struct CycleSearch<'g> {
    graph: &'g Successors,
    order: Vec<u32>,
    low: Vec<u32>,
    open: Vec<bool>,
    stack: Vec<u32>,
    component: Vec<Option<u32>>,
    visited: u32,
    found: u32,
}

impl CycleSearch<'_> {
    fn run(&mut self, root: u32) {
        let mut calls = vec![(root, 0)];
        self.open(root);
        while let Some((vertex, next)) = calls.last_mut() {
            let vertex = *vertex;
            let Some(successor) = self.graph.of(vertex).get(*next).copied() else {
                calls.pop();
                self.close(vertex);
                if let Some((caller, _)) = calls.last() {
                    self.lower(*caller, self.low[vertex as usize]);
                }
                continue;
            };
            *next += 1;
            if self.order[successor as usize] == UNSEEN {
                self.open(successor);
                calls.push((successor, 0));
            } else if self.open[successor as usize] {
                self.lower(vertex, self.order[successor as usize]);
            }
        }
    }

    fn open(&mut self, vertex: u32) {
        self.order[vertex as usize] = self.visited;
        self.low[vertex as usize] = self.visited;
        self.visited += 1;
        self.open[vertex as usize] = true;
        self.stack.push(vertex);
    }

    fn lower(&mut self, vertex: u32, low: u32) {
        let own = &mut self.low[vertex as usize];
        *own = (*own).min(low);
    }

    fn close(&mut self, vertex: u32) {
        if self.low[vertex as usize] != self.order[vertex as usize] {
            return;
        }
        let start = self.stack.iter().rposition(|open| *open == vertex).unwrap_or(0);
        let is_cycle = self.stack.len() - start > 1 || self.graph.of(vertex).contains(&vertex);
        for member in self.stack.drain(start..) {
            self.open[member as usize] = false;
            self.component[member as usize] = is_cycle.then_some(self.found);
        }
        self.found += 1;
    }
}

/// Returns a shortest cycle through `start`, as the vertices before it returns to `start`.
pub(crate) fn cycle_through(graph: &Successors, component: &[Option<u32>], start: u32) -> Vec<u32> {
    let mut came_from = rustc_hash::FxHashMap::default();
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(vertex) = queue.pop_front() {
        for next in graph.of(vertex).iter().copied() {
            if component[next as usize] != component[start as usize] || came_from.contains_key(&next) {
                continue;
            }
            came_from.insert(next, vertex);
            queue.push_back(next);
        }
        if came_from.contains_key(&start) {
            break;
        }
    }
    let mut cycle = Vec::new();
    let mut vertex = came_from.get(&start).copied();
    while let Some(at) = vertex.filter(|at| *at != start) {
        cycle.push(at);
        vertex = came_from.get(&at).copied();
    }
    cycle.push(start);
    cycle.reverse();
    cycle
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[&[u32]]) -> Successors {
        let mut graph = Successors::default();
        for successors in edges {
            graph.push(|list| list.extend_from_slice(successors));
        }
        graph
    }

    fn on_cycles(edges: &[&[u32]]) -> Vec<u32> {
        let component = components(&graph(edges));
        (0..edges.len() as u32).filter(|vertex| component[*vertex as usize].is_some()).collect()
    }

    #[test]
    fn only_vertices_on_a_cycle_have_a_component() {
        assert_eq!(on_cycles(&[&[1], &[2], &[]]), [] as [u32; 0]);
        assert_eq!(on_cycles(&[&[1], &[0, 2], &[]]), [0, 1]);
        assert_eq!(on_cycles(&[&[0]]), [0]);
        assert_eq!(on_cycles(&[&[1, 3], &[2], &[1], &[4], &[3, 0]]), [0, 1, 2, 3, 4]);
        assert_eq!(on_cycles(&[&[1], &[2], &[1], &[0]]), [1, 2]);
    }

    #[test]
    fn two_cycles_are_two_components() {
        let component = components(&graph(&[&[1], &[0, 2], &[3], &[2]]));
        assert_eq!(component[0], component[1]);
        assert_eq!(component[2], component[3]);
        assert_ne!(component[0], component[2]);
    }

    #[test]
    fn a_cycle_is_named_from_its_start() {
        let graph = graph(&[&[1], &[2, 3], &[0], &[1]]);
        let component = components(&graph);
        assert_eq!(cycle_through(&graph, &component, 0), [0, 1, 2]);
        assert_eq!(cycle_through(&graph, &component, 3), [3, 1]);
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let mut long = Successors::default();
        for vertex in 0..200_000_u32 {
            long.push(|list| list.push((vertex + 1) % 200_000));
        }
        assert!(components(&long).iter().all(Option::is_some));
    }
}
