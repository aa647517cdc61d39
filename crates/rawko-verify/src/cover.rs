//! Runs that cover a chart: every step between two configurations by every kind of input, failures and timeouts
//! included. `rawko test --generate` writes them as scenarios.

use rustc_hash::FxHashSet;

use rawko_core::World;

use crate::explore::{ExplorationLimits, ExplorationResult, Explorer, SharedExploration};
use crate::graph::{Counterexample, Edge, Graph, ModelInput};
use crate::mode::Mode;
use crate::model::Model;
use crate::numbers::Numbers;
use crate::trace::counterexample;

/// Inputs of one run.
const LENGTH_MAX: usize = 40;

/// Runs that cover a chart.
#[derive(Clone, Debug, Default)]
pub struct Cover {
    /// Runs in the order in which they were found; each covers a step that no earlier one does.
    pub runs: Vec<Counterexample>,
    /// False if a limit ended the exploration, so that something may be left out.
    pub is_complete: bool,
}

/// What one step covers: the configuration before and after it, the input, the work that it starts, and the transitions that
/// it takes: two of them may differ in their guards only.
type Item = (u32, u32, String, Numbers<u16>, Numbers<u32>);

/// Returns runs of the first chart that cover everything reachable; the others may be invoked by it.
pub fn cover(charts: &[Model], world: &World, limits: &ExplorationLimits<'_>) -> Option<Cover> {
    let model = charts.first()?;
    let most = (limits.states_max, usize::MAX);
    let input = &model.input;
    let mut shared = SharedExploration::new(charts, world, limits, (Mode::Concrete, None), most, input);
    shared.numbers_configurations = true;
    let explored = Explorer::new(model, false, &mut shared).run(input.clone());
    let mut covered = FxHashSet::default();
    let mut runs = Vec::new();
    for number in 0..explored.graph.edges.len() as u32 {
        let edge = &explored.graph.edges[number as usize];
        if covered.insert(item(&explored.graph, edge)) {
            let inputs = run_through(&explored, edge, &mut covered);
            runs.push(counterexample(model, &inputs, None, String::new()));
        }
    }
    if runs.is_empty() {
        runs.push(counterexample(model, &[], None, String::new()));
    }
    Some(Cover { runs, is_complete: explored.graph.complete })
}

fn item(graph: &Graph, edge: &Edge) -> Item {
    let configuration = |node: u32| graph.nodes[node as usize].configuration;
    let input = match graph.input(edge) {
        ModelInput::Event { name, .. } => name.to_string(),
        ModelInput::Advance { .. } | ModelInput::Fire { .. } | ModelInput::Expire { .. } => String::new(),
    };
    let label = graph.label(edge);
    (configuration(edge.from), configuration(edge.to), input, label.starts.clone(), label.taken.clone())
}

/// Returns a run to a step, and on through steps that are not covered yet.
fn run_through(explored: &ExplorationResult, edge: &Edge, covered: &mut FxHashSet<Item>) -> Vec<ModelInput> {
    let graph = &explored.graph;
    let mut inputs = graph.path_to(edge.from);
    inputs.push(graph.input(edge).clone());
    let mut at = edge.to;
    while inputs.len() < LENGTH_MAX {
        let next = graph.edges_of(at).iter().find(|edge| covered.insert(item(graph, edge)));
        let Some(next) = next else { break };
        inputs.push(graph.input(next).clone());
        at = next.to;
    }
    inputs
}
