//! What loops spend: agents, models and tools that start again and again, and the budgets that stop them. A budget is full
//! again when its state is entered again, so only those of states that the loop never leaves count.

use std::sync::Arc;

use rawko_core::{ActionKind, NodeId, ServiceClass, ServiceName};

use crate::children::ChildOutcomes;
use crate::explore::ExplorationResult;
use crate::graph::{Counterexample, Edge, Graph, InputCause, ModelInput};
use crate::machine::StepFact;
use crate::model::Model;
use crate::parts;
use crate::progress::{ProgressCut, endless_parts};
use crate::tools::{declaring, is_any_name};
use crate::trace::counterexample;

/// A kind of spending, by the keys of a budget that stop it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SpendKind {
    /// Agents and models.
    Agent,
    Tool,
    /// Other parts of an agent's session.
    Session,
}

const KINDS: [SpendKind; 3] = [SpendKind::Agent, SpendKind::Tool, SpendKind::Session];

impl SpendKind {
    fn keys(self) -> &'static [&'static str] {
        match self {
            SpendKind::Agent => &["tokens", "cost_usd", "time"],
            SpendKind::Tool => &["tool_calls"],
            SpendKind::Session => &["tokens", "cost_usd", "time", "tool_calls"],
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            SpendKind::Agent => "an agent or a model",
            SpendKind::Tool => "a tool",
            SpendKind::Session => "a part of an agent's session",
        }
    }
}

/// How much one start spends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpendExtent {
    Once,
    /// A child chart that spends in a loop of its own.
    Endless,
    /// A child chart that is not known.
    Unknown,
}

/// One kind of spending that an effect starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SpendSource {
    pub(crate) kind: SpendKind,
    extent: SpendExtent,
    /// The invoke or the handler.
    name: Arc<str>,
    /// Numbers of the states around it whose budget stops it.
    bounds: Vec<u16>,
}

/// Returns the states with a budget. Their places are the numbers of budgets.
pub(crate) fn budgets(model: &Model) -> Vec<NodeId> {
    let has_budget = |node: &NodeId| !model.chart.node(*node).policy.get("budget").is_null();
    model.chart.node_ids().filter(has_budget).collect()
}

/// Returns what an effect spends. A child is given if it is a known chart.
pub(crate) fn of_effect(
    model: &Model,
    budgets: &[NodeId],
    moment: &StepFact,
    child: Option<&ChildOutcomes>,
) -> Vec<SpendSource> {
    let (name, src, nodes) = match moment {
        StepFact::Invoked { id, src, .. } => (id, src, declaring(model, id)),
        StepFact::Called(handler) => (handler, handler, callers(model, handler)),
        StepFact::Event(_) | StepFact::Entered(_) | StepFact::Exited(_) | StepFact::Stalled { .. } => {
            return Vec::new();
        }
    };
    let spending = |(kind, extent): (SpendKind, SpendExtent)| {
        let bounds = bounds(model, budgets, &nodes, kind);
        SpendSource { kind, extent, name: Arc::clone(name), bounds }
    };
    kinds(src, child).into_iter().map(spending).collect()
}

fn kinds(src: &str, child: Option<&ChildOutcomes>) -> Vec<(SpendKind, SpendExtent)> {
    let once = |kind| vec![(kind, SpendExtent::Once)];
    match ServiceName::of(src).class {
        ServiceClass::Agent | ServiceClass::Model => once(SpendKind::Agent),
        ServiceClass::Tool => once(SpendKind::Tool),
        ServiceClass::Session | ServiceClass::Arbiter => once(SpendKind::Session),
        ServiceClass::Chart => match child {
            Some(child) => {
                let with = |kinds: &[SpendKind], extent| {
                    kinds.iter().map(|kind| (*kind, extent)).collect::<Vec<_>>()
                };
                [with(&child.spends, SpendExtent::Once), with(&child.endless, SpendExtent::Endless)].concat()
            }
            None => KINDS.map(|kind| (kind, SpendExtent::Unknown)).to_vec(),
        },
        _ if is_any_name(src) => KINDS.map(|kind| (kind, SpendExtent::Once)).to_vec(),
        _ => Vec::new(),
    }
}

/// Returns the states whose actions call a handler.
fn callers(model: &Model, handler: &str) -> Vec<NodeId> {
    let calls = |node: &rawko_core::NodeSpec| {
        let mut calls = false;
        parts::each_action_of(node, &mut |kind| {
            calls |= matches!(kind, ActionKind::Call { handler: known, .. } if **known == *handler);
        });
        calls
    };
    let nodes = (0u32..).zip(&model.blueprint.nodes);
    nodes.filter(|(_, node)| calls(node)).map(|(number, _)| NodeId(number)).collect()
}

/// Returns the budgets around all these states that stop a kind of spending.
fn bounds(model: &Model, budgets: &[NodeId], nodes: &[NodeId], kind: SpendKind) -> Vec<u16> {
    let is_around = |budget: NodeId, node: NodeId| {
        std::iter::successors(Some(node), |at| model.chart.node(*at).parent).any(|at| at == budget)
    };
    let stops = |budget: &NodeId| {
        let policy = model.chart.node(*budget).policy.get("budget");
        kind.keys().iter().any(|key| !policy.get(key).is_null())
    };
    let counts = |(_, budget): &(u16, &NodeId)| {
        !nodes.is_empty() && nodes.iter().all(|node| is_around(**budget, *node)) && stops(budget)
    };
    (0u16..).zip(budgets).filter(counts).map(|(number, _)| number).collect()
}

/// Returns true if a step needs no person and no event from outside.
fn is_by_itself(edge: &Edge, graph: &Graph) -> bool {
    match graph.label(edge).cause {
        InputCause::Service | InputCause::Timer | InputCause::Undelivered | InputCause::Wait => true,
        InputCause::Person | InputCause::Outside => false,
    }
}

/// No agent, model or tool is started again and again without a budget, unless a person or an event from outside asks for it.
pub(crate) fn violation(model: &Model, explored: &ExplorationResult) -> Option<Counterexample> {
    let run = unbounded(explored, |spending| spending.extent != SpendExtent::Unknown)?;
    Some(counterexample(model, &run.inputs, run.loop_from, run.reason))
}

/// Returns the child chart that is not known and may spend in a loop.
pub(crate) fn open(explored: &ExplorationResult) -> Option<String> {
    let run = unbounded(explored, |spending| spending.extent == SpendExtent::Unknown)?;
    Some(format!("`{}` starts a chart in a loop, and the chart is not known", run.name))
}

struct SpendingRun {
    inputs: Vec<ModelInput>,
    loop_from: Option<usize>,
    name: Arc<str>,
    reason: String,
}

/// Returns a shortest run that spends without end.
fn unbounded(explored: &ExplorationResult, counts: impl Fn(&SpendSource) -> bool) -> Option<SpendingRun> {
    if !explored.spendings.iter().any(&counts) {
        return None;
    }
    let graph = &explored.graph;
    let spendings = |numbers: &[u16]| -> Vec<&SpendSource> {
        let all = numbers.iter().map(|number| &explored.spendings[usize::from(*number)]);
        all.filter(|spending| counts(spending)).collect()
    };
    let is_endless = |it: &&&SpendSource| it.extent == SpendExtent::Endless && it.bounds.is_empty();
    let endless = |inputs: Vec<ModelInput>, spending: &SpendSource| {
        let reason = format!(
            "the child of `{}` starts {} again and again without a budget",
            spending.name,
            spending.kind.as_str()
        );
        SpendingRun { inputs, loop_from: None, name: Arc::clone(&spending.name), reason }
    };
    if let Some(spending) = spendings(&explored.start_spends).iter().find(is_endless) {
        return Some(endless(Vec::new(), spending));
    }
    let mut best: Option<SpendingRun> = graph.edges.iter().find_map(|edge| {
        let found = spendings(&graph.label(edge).spends);
        let spending = found.iter().find(is_endless)?;
        let mut inputs = graph.path_to(edge.from);
        inputs.push(graph.input(edge).clone());
        Some(endless(inputs, spending))
    });
    for (component, cut) in endless_parts(graph, |edge| is_by_itself(edge, graph)) {
        let cycle = Cycle { graph, component: &component, cut };
        let left: Vec<u16> = cycle.edges().flat_map(|edge| graph.label(edge).left.iter().copied()).collect();
        let is_free = |it: &&&SpendSource| it.bounds.iter().all(|bound| left.contains(bound));
        let found = cycle.edges().find_map(|edge| {
            let found = spendings(&graph.label(edge).spends);
            let spending = *found.iter().find(is_free)?;
            Some((edge, spending))
        });
        let Some((edge, spending)) = found else { continue };
        // A timer that is pending all the time ends the loop.
        if cycle.is_timed() {
            continue;
        }
        let Some(round) = cycle.round(edge, &spending.bounds) else { continue };
        let mut inputs = graph.path_to(edge.from);
        let loop_from = Some(inputs.len());
        inputs.extend(round);
        if best.as_ref().is_none_or(|best| inputs.len() < best.inputs.len()) {
            let reason = format!("{} is started again and again without a budget", spending.kind.as_str());
            best = Some(SpendingRun { inputs, loop_from, name: Arc::clone(&spending.name), reason });
        }
    }
    best
}

/// A part of the graph in which the chart can stay by itself.
struct Cycle<'g> {
    graph: &'g Graph,
    component: &'g [u32],
    cut: ProgressCut,
}

impl<'g> Cycle<'g> {
    fn is_inside(&self, edge: &Edge) -> bool {
        is_by_itself(edge, self.graph)
            && self.component.binary_search(&edge.to).is_ok()
            && !self.cut.has(self.graph.label(edge))
    }

    fn edges(&self) -> impl Iterator<Item = &'g Edge> + '_ {
        let all = self.component.iter().flat_map(|node| self.graph.edges_of(*node));
        all.filter(|edge| self.is_inside(edge))
    }

    /// Returns inputs that take a step, leave the states with these budgets, and lead back to where the step begins.
    fn round(&self, first: &Edge, budgets: &[u16]) -> Option<Vec<ModelInput>> {
        let label = |edge: &Edge| self.graph.label(edge);
        let mut round = vec![*first];
        for budget in budgets {
            if round.iter().any(|edge| label(edge).left.contains(budget)) {
                continue;
            }
            let leaving = self.edges().find(|edge| label(edge).left.contains(budget))?;
            self.go(&mut round, leaving.from)?;
            round.push(*leaving);
        }
        self.go(&mut round, first.from)?;
        Some(round.iter().map(|edge| self.graph.input(edge).clone()).collect())
    }

    fn go(&self, round: &mut Vec<Edge>, to: u32) -> Option<()> {
        let at = round.last()?.to;
        let way = self.graph.way(at, |node| node == to, |edge| self.is_inside(edge))?;
        round.extend(way.iter().map(|number| self.graph.edges[*number as usize]));
        Some(())
    }

    fn is_timed(&self) -> bool {
        let timers = &self.graph.pending_of(self.component[0]).timers;
        timers.iter().any(|timer| {
            let is_pending = |node: &u32| self.graph.pending_of(*node).timers.contains(timer);
            self.component.iter().all(is_pending)
                && !self.edges().any(|edge| self.graph.label(edge).ends.contains(timer))
        })
    }
}

/// Returns the kinds that one whole run of a child may spend without a person or an event from outside, and those that
/// it may spend without end.
pub(crate) fn of_child(explored: &ExplorationResult) -> (Vec<SpendKind>, Vec<SpendKind>) {
    let graph = &explored.graph;
    if explored.spendings.is_empty() {
        return Default::default();
    }
    let starts = graph.starts.iter().map(|start| start.node);
    let begun = spread(graph, starts, |edge| (edge.from, edge.to));
    let is_end = |node: &u32| {
        let at = &graph.nodes[*node as usize];
        at.is_over || at.is_failed || !at.is_expanded
    };
    let ends = (0..graph.nodes.len() as u32).filter(is_end);
    let ended = spread(graph, ends, |edge| (edge.to, edge.from));
    let of = |edge: &Edge| {
        let is_on_a_run = begun[edge.from as usize] && ended[edge.to as usize] && is_by_itself(edge, graph);
        if is_on_a_run { &graph.label(edge).spends[..] } else { &[] }
    };
    let at_start = match graph.starts.iter().any(|start| ended[start.node as usize]) {
        true => &explored.start_spends[..],
        false => &[],
    };
    let numbers = graph.edges.iter().flat_map(of).chain(at_start);
    let mut kinds: Vec<SpendKind> =
        numbers.map(|number| explored.spendings[usize::from(*number)].kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let is_endless = |kind: &SpendKind| {
        unbounded(explored, |it| it.kind == *kind && it.extent != SpendExtent::Unknown).is_some()
    };
    (kinds, KINDS.into_iter().filter(is_endless).collect())
}

/// Returns the states on ways along the steps that need no person, by number.
fn spread(graph: &Graph, from: impl Iterator<Item = u32>, ends: impl Fn(&Edge) -> (u32, u32)) -> Vec<bool> {
    let mut reached = vec![false; graph.nodes.len()];
    from.for_each(|node| reached[node as usize] = true);
    loop {
        let mut has_changed = false;
        for edge in graph.edges.iter().filter(|edge| is_by_itself(edge, graph)) {
            let (one, other) = ends(edge);
            if reached[one as usize] && !reached[other as usize] {
                reached[other as usize] = true;
                has_changed = true;
            }
        }
        if !has_changed {
            return reached;
        }
    }
}
