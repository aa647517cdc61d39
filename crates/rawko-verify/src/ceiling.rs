//! How often one run starts agents, completions and tools at most, with what its child charts start.

use std::collections::BTreeMap;

use rawko_core::{ServiceClass, ServiceName};

use crate::explore::ExplorationResult;
use crate::graph::{Edge, Graph};
use crate::model::{Model, class_of};

/// The classes that are counted.
const COUNTED: [ServiceClass; 3] = [ServiceClass::Agent, ServiceClass::Model, ServiceClass::Tool];

/// The most starts of one run by class, agents first; `None` if there is no bound.
pub(crate) type Starts = [Option<u64>; COUNTED.len()];

/// Returns the most that one run of an explored chart starts.
pub(crate) fn starts(model: &Model, explored: &ExplorationResult) -> Starts {
    if !explored.graph.complete || !explored.gaps.is_empty() {
        return Starts::default();
    }
    let classes: BTreeMap<&str, Option<ServiceClass>> =
        model.invokes().map(|(_, invoke)| (&*invoke.id, class_of(invoke))).collect();
    let mut counts = Starts::default();
    for (number, (class, count)) in COUNTED.iter().zip(&mut counts).enumerate() {
        let of_effect = |effect: &u16| -> Option<u64> {
            let name = &explored.effects[usize::from(*effect)];
            let id = name.split('[').next().unwrap_or(name);
            let own = classes.get(id).copied().flatten().unwrap_or_else(|| ServiceName::of(name).class);
            match explored.child_starts.get(id) {
                Some(child) => child[number],
                None => Some(u64::from(own == *class)),
            }
        };
        let sum = |effects: &[u16]| effects.iter().map(of_effect).sum::<Option<u64>>();
        let at_start = sum(&explored.graph.start_starts);
        let later = longest(&explored.graph, &|edge| sum(&explored.graph.label(edge).starts));
        *count = later.zip(at_start).map(|(later, at_start)| later + at_start);
    }
    counts
}

/// Returns the most that one run counts; `None` if a loop counts, or a step without a bound.
fn longest(graph: &Graph, weight: &dyn Fn(&Edge) -> Option<u64>) -> Option<u64> {
    let components = graph.components();
    let mut of = vec![0usize; graph.nodes.len()];
    for (number, component) in components.iter().enumerate() {
        component.iter().for_each(|node| of[*node as usize] = number);
    }
    // Components come with their successors first.
    let mut most = vec![0u64; components.len()];
    for (number, component) in components.iter().enumerate() {
        for edge in component.iter().flat_map(|node| graph.edges_of(*node)) {
            let (to, counts) = (of[edge.to as usize], weight(edge)?);
            if to == number && counts > 0 {
                return None;
            }
            most[number] = most[number].max(counts + if to == number { 0 } else { most[to] });
        }
    }
    of.first().map_or(Some(0), |first| Some(most[*first]))
}
