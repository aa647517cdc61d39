//! How often one run starts agents, completions and tools at most, and the tokens and money that budgets let it spend,
//! with what its child charts start and spend.

use std::collections::BTreeMap;

use rawko_core::{NodeId, ServiceClass, ServiceName};

use crate::explore::ExplorationResult;
use crate::graph::{Edge, Graph};
use crate::model::{Model, class_of};

/// Counted quantities, by their key in a budget: starts of a class, and spending of agents and models.
const COUNTED: [(&str, Option<ServiceClass>); 5] = [
    ("agents", Some(ServiceClass::Agent)),
    ("completions", Some(ServiceClass::Model)),
    ("tool_calls", Some(ServiceClass::Tool)),
    ("tokens", None),
    ("cost_usd", None),
];

/// Parts of a dollar that are counted.
pub(crate) const PER_USD: f64 = 1e6;

/// The most that one run starts and spends, in the order of [`COUNTED`]; `None` if there is no bound.
pub(crate) type StartCounts = [Option<u64>; COUNTED.len()];

/// Returns the most that one run of an explored chart starts and spends.
pub(crate) fn starts(model: &Model, explored: &ExplorationResult) -> StartCounts {
    let is_whole = explored.graph.complete && explored.gaps.is_empty();
    let invokes: BTreeMap<&str, (usize, Option<ServiceClass>)> =
        model.invokes().map(|(node, invoke)| (&*invoke.id, (node, class_of(invoke)))).collect();
    let mut counts = StartCounts::default();
    for (number, ((key, class), count)) in COUNTED.iter().zip(&mut counts).enumerate() {
        let of_effect = |effect: &u16| -> Option<u64> {
            let name = &explored.effects[usize::from(*effect)];
            let id = name.split('[').next().unwrap_or(name);
            let known = invokes.get(id);
            let own = known.and_then(|(_, class)| *class).unwrap_or_else(|| ServiceName::of(name).class);
            let budget = known.and_then(|(node, _)| budget_around(model, *node, key));
            match (explored.child_starts.get(id), class) {
                (Some(child), _) => least(child[number], budget),
                (None, Some(class)) => Some(u64::from(own == *class)),
                (None, None) if matches!(own, ServiceClass::Agent | ServiceClass::Model) => budget,
                (None, None) => Some(0),
            }
        };
        let sum = |effects: &[u16]| effects.iter().map(of_effect).sum::<Option<u64>>();
        let at_start = sum(&explored.graph.start_starts);
        let later = longest(&explored.graph, &|edge| sum(&explored.graph.label(edge).starts));
        let counted = later.zip(at_start).and_then(|(later, at_start)| later.checked_add(at_start));
        *count = least(counted.filter(|_| is_whole), budget_around(model, 0, key));
    }
    counts
}

/// Returns the smaller of two bounds.
fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Returns true if a state or one around it has a budget.
pub(crate) fn has_budget(model: &Model, node: usize) -> bool {
    let mut line = std::iter::successors(Some(NodeId(node as u32)), |node| model.chart.node(*node).parent);
    line.any(|node| !model.chart.node(node).policy.get("budget").is_null())
}

/// Returns the smallest budget of a state and the states around it.
fn budget_around(model: &Model, node: usize, key: &str) -> Option<u64> {
    let mut at = Some(NodeId(node as u32));
    let mut budget = None;
    while let Some(node) = at {
        let info = model.chart.node(node);
        let value = info.policy.get("budget").get(key);
        let value = match key {
            "cost_usd" => value.as_f64().map(|usd| (usd * PER_USD).ceil() as u64),
            _ => value.as_i64().and_then(|count| u64::try_from(count).ok()),
        };
        budget = least(budget, value);
        at = info.parent;
    }
    budget
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
            let after = if to == number { 0 } else { most[to] };
            most[number] = most[number].max(counts.checked_add(after)?);
        }
    }
    of.first().map_or(Some(0), |first| Some(most[*first]))
}
