//! Witnesses: `approval_respected` needs to know which effects start without an approval. Where data is unknown, a general
//! exploration finds ways to them that may not exist. They are tried in a guided exploration with representative data:
//! from configuration to configuration along these ways, so that it gets far with few states.

use std::collections::VecDeque;
use std::sync::Arc;

use rawko_core::NodeId;
use rustc_hash::FxHashMap;

use crate::builtin;
use crate::explore::ExplorationResult;
use crate::graph::{Edge, ModelInput};
use crate::model::Model;

/// An input, and the configuration that it led to.
type KnownMove = (Arc<str>, Vec<NodeId>);

/// Steps between configurations, by the name of their input; that of time is empty.
#[derive(Debug, Default)]
pub(crate) struct Tunnel {
    moves: FxHashMap<Vec<NodeId>, Vec<KnownMove>>,
    /// Inputs that start an effect: what follows does not matter.
    last: FxHashMap<Vec<NodeId>, Vec<Arc<str>>>,
}

impl Tunnel {
    /// Returns true if an input in a configuration may lead along one of the ways.
    pub(crate) fn takes(&self, from: &[NodeId], input: &ModelInput) -> bool {
        let is_it = |name: &Arc<str>| **name == *name_of(input);
        self.moves.get(from).is_some_and(|moves| moves.iter().any(|(name, _)| is_it(name)))
    }

    /// Returns true if a step leads along one of the ways.
    pub(crate) fn has(&self, from: &[NodeId], input: &ModelInput, to: &[NodeId]) -> bool {
        let is_last = |last: &Vec<Arc<str>>| last.iter().any(|name| **name == *name_of(input));
        self.last.get(from).is_some_and(is_last)
            || self.moves.get(from).is_some_and(|moves| moves.iter().any(|(_, next)| next == to))
    }

    /// Returns the shortest ways to effects that only a general exploration starts without an answer to their question;
    /// `None` if there are none.
    pub(crate) fn to_free_effects(
        model: &Model,
        general: &ExplorationResult,
        bases: &[&ExplorationResult],
    ) -> Option<Tunnel> {
        let mut tunnel = Tunnel::default();
        for number in 0..general.questions.len() {
            let (guarded, is_named) = builtin::guarded_by(model, general, bases, number);
            if is_named {
                continue;
            }
            for edge in builtin::ways_without(general, number, &guarded) {
                tunnel.add(general, edge, &guarded);
            }
        }
        (!tunnel.moves.is_empty()).then_some(tunnel)
    }

    fn add(&mut self, general: &ExplorationResult, edge: &Edge, effects: &[u16]) {
        let active = |node: u32| {
            let number = general.graph.nodes[node as usize].configuration;
            general.configurations.get(number as usize).cloned().unwrap_or_default()
        };
        let step = (name_of(general.graph.input(edge)).into(), active(edge.to));
        let moves = self.moves.entry(active(edge.from)).or_default();
        if !moves.contains(&step) {
            moves.push(step);
        }
        let starts = &general.graph.label(edge).starts;
        if effects.iter().any(|effect| starts.contains(effect)) {
            let last = self.last.entry(active(edge.from)).or_default();
            last.push(name_of(general.graph.input(edge)).into());
        }
    }
}

fn name_of(input: &ModelInput) -> &str {
    match input {
        ModelInput::Event { name, .. } => name,
        ModelInput::Advance { .. } | ModelInput::Fire { .. } | ModelInput::Expire { .. } => "",
    }
}

/// Returns the steps of shortest ways along the given steps, one way to each of the effects from each configuration that
/// the chart may start in: which of them a particular input leads to is not known.
pub(crate) fn ways<'g>(
    general: &'g ExplorationResult,
    effects: &[u16],
    may: impl Fn(&Edge) -> bool,
) -> Vec<&'g Edge> {
    let mut configurations: Vec<u32> = Vec::new();
    let mut ways = Vec::new();
    for start in &general.graph.starts {
        let configuration = general.graph.nodes[start.node as usize].configuration;
        if !configurations.contains(&configuration) {
            configurations.push(configuration);
            ways.extend(ways_from(general, start.node, effects, &may));
        }
    }
    ways
}

fn ways_from<'g>(
    general: &'g ExplorationResult,
    start: u32,
    effects: &[u16],
    may: impl Fn(&Edge) -> bool,
) -> Vec<&'g Edge> {
    let graph = &general.graph;
    let mut found_by: Vec<Option<&Edge>> = vec![None; graph.nodes.len()];
    let mut is_found = vec![false; graph.nodes.len()];
    let mut queue = VecDeque::from([start]);
    is_found[start as usize] = true;
    let mut open: Vec<u16> = effects.to_vec();
    let mut ways: Vec<&Edge> = Vec::new();
    while let Some(node) = queue.pop_front() {
        for edge in graph.edges_of(node).iter().filter(|edge| may(edge)) {
            let starts = &graph.label(edge).starts;
            if open.iter().any(|effect| starts.contains(effect)) {
                open.retain(|effect| !starts.contains(effect));
                let back = std::iter::successors(Some(edge), |edge| found_by[edge.from as usize]);
                ways.extend(back);
            }
            if !is_found[edge.to as usize] {
                is_found[edge.to as usize] = true;
                found_by[edge.to as usize] = Some(edge);
                queue.push_back(edge.to);
            }
        }
    }
    ways
}
