//! `leads_to`: after `from`, every fair run reaches `to`. A counterexample is a run that stops where nothing has to
//! happen, or a loop in which all pending work gets its turn.

use std::collections::VecDeque;

use rawko_chart::Assumptions;

use crate::graph::{Counterexample, Edge, Graph, Label, ModelInput, PendingWork};
use crate::model::Model;
use crate::trace::counterexample;

/// States of a component at which a short loop is looked for.
const STARTS_MAX: usize = 64;

/// Returns a run that violates the `leads_to` with this number.
pub(crate) fn violation(
    model: &Model,
    graph: &Graph,
    lead: u32,
    assume: Assumptions,
) -> Option<Counterexample> {
    let search = LoopSearch { graph, bit: 1 << lead, assume };
    let pending = search.pending();
    let has = |node: u32| pending.found[node as usize].is_some();
    let stops = pending.order.iter().copied().find(|node| search.may_stop(*node));
    let cycle = search.fair_cycle(&has);
    let stop = stops.map(|node| (search.run_to(&pending, node), None, "nothing has to happen any more"));
    let looped = cycle.map(|component| {
        let inside = pending.order.iter().copied().filter(|node| component.binary_search(node).is_ok());
        let first = inside.clone().next().unwrap_or(component[0]);
        let short = inside.take(STARTS_MAX).find_map(|node| Some((node, search.round(node, &component)?)));
        let (first, round) = short.unwrap_or_else(|| (first, search.tour(first, &component)));
        let mut inputs = search.run_to(&pending, first);
        let loop_from = inputs.len();
        inputs.extend(round);
        (inputs, Some(loop_from), "this can repeat forever")
    });
    let shorter = match (stop, looped) {
        (Some(stop), Some(looped)) if looped.0.len() < stop.0.len() => Some(looped),
        (Some(stop), _) => Some(stop),
        (None, looped) => looped,
    };
    shorter.map(|(inputs, loop_from, reason)| counterexample(model, &inputs, loop_from, reason.to_owned()))
}

/// Returns true if every fair run ends or fails.
pub(crate) fn always_ends(graph: &Graph, assume: Assumptions) -> bool {
    let search = LoopSearch { graph, bit: 0, assume };
    let lives = |node: u32| {
        let at = &graph.nodes[node as usize];
        !at.is_over && !at.is_failed
    };
    let may_stop = (0..graph.nodes.len() as u32).any(|node| lives(node) && search.may_stop(node));
    graph.complete && !may_stop && search.fair_cycle(&lives).is_none()
}

/// The number of an event from outside, as work that is pending where one is handled.
const EVENT: u16 = u16::MAX;

/// Returns true if work with this number ends with a step.
fn ends(label: &Label, number: u16) -> bool {
    match number {
        EVENT => !label.is_idle,
        _ => label.ends.contains(&number),
    }
}

struct LoopSearch<'g> {
    graph: &'g Graph,
    bit: u64,
    assume: Assumptions,
}

/// The states in which `to` is still to come.
struct PendingStates {
    /// How each was found: the first edge after which it is pending, or the edge from another pending one.
    found: Vec<Option<FoundLoop>>,
    order: Vec<u32>,
}

#[derive(Clone, Copy)]
enum FoundLoop {
    /// The instance starts with it.
    Start,
    /// `from` holds after this edge.
    Begins(u32),
    Continues(u32),
}

impl LoopSearch<'_> {
    fn pending(&self) -> PendingStates {
        let mut pending = PendingStates { found: vec![None; self.graph.nodes.len()], order: Vec::new() };
        let mut queue = VecDeque::new();
        for start in &self.graph.starts {
            let begins = start.from_bits & self.bit != 0 && start.to_bits & self.bit == 0;
            if begins && pending.found[start.node as usize].is_none() {
                pending.found[start.node as usize] = Some(FoundLoop::Start);
                queue.push_back(start.node);
            }
        }
        for (number, edge) in self.graph.edges.iter().enumerate() {
            let label = self.graph.label(edge);
            let begins = label.from_bits & self.bit != 0 && label.to_bits & self.bit == 0;
            if begins && pending.found[edge.to as usize].is_none() {
                pending.found[edge.to as usize] = Some(FoundLoop::Begins(number as u32));
                queue.push_back(edge.to);
            }
        }
        while let Some(node) = queue.pop_front() {
            pending.order.push(node);
            let (first, end) = self.graph.nodes[node as usize].edges;
            for number in first..end {
                let edge = &self.graph.edges[number as usize];
                if self.is_pending_step(edge) && pending.found[edge.to as usize].is_none() {
                    pending.found[edge.to as usize] = Some(FoundLoop::Continues(number));
                    queue.push_back(edge.to);
                }
            }
        }
        pending
    }

    /// Returns true if a run may stay in a state forever.
    fn may_stop(&self, node: u32) -> bool {
        let pending = self.graph.pending_of(node);
        let node = &self.graph.nodes[node as usize];
        let events_arrive = self.assume.events_arrive && node.takes_events;
        let must_continue = events_arrive || self.due(pending).next().is_some();
        node.is_expanded && (node.is_over || !must_continue)
    }

    fn label(&self, edge: u32) -> &Label {
        self.graph.label(&self.graph.edges[edge as usize])
    }

    fn is_pending_step(&self, edge: &Edge) -> bool {
        self.graph.label(edge).to_bits & self.bit == 0
    }

    /// Returns a part of the graph in which a run can continue forever and no pending work is neglected.
    fn fair_cycle(&self, has: &impl Fn(u32) -> bool) -> Option<Vec<u32>> {
        let cycles = self.graph.cycles(has, |edge| self.is_pending_step(edge));
        cycles.into_iter().find(|component| self.neglected(component).is_none())
    }

    /// Returns work that is pending in every state of a component and ends in none of its steps.
    fn neglected(&self, component: &[u32]) -> Option<u16> {
        let everywhere = self.obligations(component[0]);
        let is_pending = |number: &u16| component.iter().all(|node| self.obligations(*node).contains(number));
        everywhere
            .into_iter()
            .filter(is_pending)
            .find(|number| !self.inner_edges(component).any(|edge| ends(self.label(edge), *number)))
    }

    fn inner_edges<'a>(&'a self, component: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
        component.iter().flat_map(|node| {
            let (first, end) = self.graph.nodes[*node as usize].edges;
            (first..end).filter(|number| {
                let edge = &self.graph.edges[*number as usize];
                self.is_pending_step(edge) && component.binary_search(&edge.to).is_ok()
            })
        })
    }

    fn run_to(&self, pending: &PendingStates, node: u32) -> Vec<ModelInput> {
        let (mut back, mut at) = (Vec::new(), node);
        loop {
            match pending.found[at as usize] {
                Some(FoundLoop::Continues(number)) => {
                    let edge = &self.graph.edges[number as usize];
                    back.push(self.graph.input(edge).clone());
                    at = edge.from;
                }
                Some(FoundLoop::Begins(number)) => {
                    let edge = &self.graph.edges[number as usize];
                    back.push(self.graph.input(edge).clone());
                    back.reverse();
                    let mut inputs = self.graph.path_to(edge.from);
                    inputs.extend(back);
                    return inputs;
                }
                Some(FoundLoop::Start) | None => {
                    back.reverse();
                    return back;
                }
            }
        }
    }

    /// Returns the shortest way from a state back to itself, if it is fair by itself.
    fn round(&self, first: u32, component: &[u32]) -> Option<Vec<ModelInput>> {
        let is_inside = |edge: &Edge| self.is_pending_step(edge) && component.binary_search(&edge.to).is_ok();
        let starts =
            self.inner_edges(component).filter(|edge| self.graph.edges[*edge as usize].from == first);
        let rounds = starts.filter_map(|edge| {
            let mut round = vec![edge];
            round.extend(self.graph.way(
                self.graph.edges[edge as usize].to,
                |node| node == first,
                is_inside,
            )?);
            self.is_fair(&round).then_some(round)
        });
        let round = rounds.min_by_key(Vec::len)?;
        Some(round.iter().map(|edge| self.graph.input(&self.graph.edges[*edge as usize]).clone()).collect())
    }

    /// Returns true if no work stays pending throughout a loop.
    fn is_fair(&self, round: &[u32]) -> bool {
        let edges = || round.iter().map(|edge| &self.graph.edges[*edge as usize]);
        let everywhere = self.obligations(edges().next().map_or(0, |edge| edge.from));
        everywhere.iter().all(|number| {
            edges().any(|edge| {
                ends(self.graph.label(edge), *number) || !self.obligations(edge.from).contains(number)
            })
        })
    }

    fn obligations(&self, node: u32) -> Vec<u16> {
        let pending = self.graph.pending_of(node);
        let takes_events = self.graph.nodes[node as usize].takes_events;
        let events = (self.assume.events_arrive && takes_events).then_some(EVENT);
        self.due(pending).chain(events).collect()
    }

    /// Returns the pending work that ends under the assumptions.
    fn due<'p>(&self, pending: &'p PendingWork) -> impl Iterator<Item = u16> + 'p {
        let Assumptions { people_answer, events_arrive } = self.assume;
        let if_assumed = |is_assumed: bool, work: &'p [u16]| if is_assumed { work } else { &[] };
        let people = if_assumed(people_answer, &pending.questions);
        let events = if_assumed(events_arrive, &pending.for_events);
        let both = if_assumed(people_answer && events_arrive, &pending.for_both);
        pending.work.iter().chain(people).chain(events).chain(both).copied()
    }

    /// Returns inputs that lead through a component and back, and end all work that is pending throughout.
    fn tour(&self, first: u32, component: &[u32]) -> Vec<ModelInput> {
        let is_inside = |edge: &Edge| self.is_pending_step(edge) && component.binary_search(&edge.to).is_ok();
        let numbers: Vec<u16> = component.iter().flat_map(|node| self.obligations(*node)).collect();
        let mut wanted: Vec<u16> = numbers;
        wanted.sort_unstable();
        wanted.dedup();
        let (mut inputs, mut at) = (Vec::new(), first);
        let mut follow = |way: &[u32], at: &mut u32, wanted: &mut Vec<u16>| {
            for number in way {
                let edge = &self.graph.edges[*number as usize];
                wanted.retain(|number| !ends(self.graph.label(edge), *number));
                inputs.push(self.graph.input(edge).clone());
                *at = edge.to;
            }
        };
        while let Some(number) = wanted.pop() {
            let serving = self.inner_edges(component).find(|edge| ends(self.label(*edge), number));
            let Some(edge) = serving else { continue };
            let source = self.graph.edges[edge as usize].from;
            if let Some(mut way) = self.graph.way(at, |node| node == source, is_inside) {
                way.push(edge);
                follow(&way, &mut at, &mut wanted);
            }
        }
        if at == first {
            // Nothing was wanted: any step within the component begins the loop.
            let edge =
                self.inner_edges(component).find(|edge| self.graph.edges[*edge as usize].from == first);
            edge.into_iter().for_each(|edge| follow(&[edge], &mut at, &mut wanted));
        }
        if let Some(way) = self.graph.way(at, |node| node == first, is_inside) {
            follow(&way, &mut at, &mut wanted);
        }
        inputs
    }
}
