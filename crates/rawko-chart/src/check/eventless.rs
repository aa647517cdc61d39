//! Rule 9: infinite loops of eventless transitions. Successors form a graph over three kinds of vertices, so that its
//! size stays linear:
//!
//! - `Enter(n)`: state `n` is entered by default, and continues to its initial states;
//! - `Ask(n)`: `n` is active and nothing below it took an eventless transition: its own are tried, then its parent's;
//! - `Take(e)`: the eventless transition `e` is taken.
//!
//! Every cycle passes through a `Take`. A graph with only unguarded edges gives certain loops; one with all edges gives
//! those that depend on guards.

use rawko_core::{NodeId, NodeKind};
use rustc_hash::FxHashSet;

use super::actions::{ActionEffects, Assigned};
use super::cycles::{Successors, components, cycle_through};
use super::entry::{self, Entered};
use super::guards;
use super::index::{ChartIndex, TransitionEdge};
use crate::codes::{EVENTLESS_CYCLE, GUARDED_EVENTLESS_CYCLE};
use crate::finding::Finding;

/// In parallel states with more regions than this, only the targets' own are followed: the graph stays linear, and the
/// limit at run time covers the rest.
const REGIONS_MAX: usize = 64;
/// Limits of analysed cycles with guards, and of states named per cycle.
const GUARDED_MAX: usize = 100;
const ROUTE_MAX: usize = 8;

/// The edges to follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ways {
    Certain,
    Possible,
}

pub(crate) fn analyse(index: &ChartIndex<'_>, doings: &ActionEffects<'_>, findings: &mut Vec<Finding>) {
    let always: Vec<&TransitionEdge<'_>> = index.edges.iter().filter(|edge| edge.is_always()).collect();
    if always.is_empty() {
        return;
    }
    let mut chart = Eventless { index, always, number: vec![0; index.nodes.len() + 1] };
    chart.number_always();
    // Without a possible cycle there is no certain one: most charts end here.
    let possible = Cycles::new(chart.graph(Ways::Possible));
    if possible.component.iter().any(Option::is_some) {
        let reported = chart.report_certain(findings);
        chart.report_guarded(doings, &possible, &reported, findings);
    }
}

struct Cycles {
    graph: Successors,
    component: Vec<Option<u32>>,
}

impl Cycles {
    fn new(graph: Successors) -> Self {
        let component = components(&graph);
        Cycles { graph, component }
    }
}

struct Eventless<'i, 'a> {
    index: &'i ChartIndex<'a>,
    always: Vec<&'i TransitionEdge<'a>>,
    /// Index of each node's first eventless transition in `always`.
    number: Vec<u32>,
}

impl Eventless<'_, '_> {
    fn number_always(&mut self) {
        let mut next = 0;
        for id in self.index.ids() {
            self.number[id.index()] = next as u32;
            next += self.always[next..].iter().take_while(|edge| edge.source == id).count();
        }
        self.number[self.index.nodes.len()] = next as u32;
    }

    fn candidates(&self, id: NodeId) -> std::ops::Range<u32> {
        self.number[id.index()]..self.number[id.index() + 1]
    }

    fn ask(&self, id: NodeId) -> u32 {
        id.0
    }

    fn enter(&self, id: NodeId) -> u32 {
        self.index.nodes.len() as u32 + id.0
    }

    fn take(&self, number: u32) -> u32 {
        2 * self.index.nodes.len() as u32 + number
    }

    fn graph(&self, ways: Ways) -> Successors {
        let mut graph = Successors::default();
        for id in self.index.ids() {
            graph.push(|next| self.after_asking(id, ways, next));
        }
        for id in self.index.ids() {
            graph.push(|next| self.after_entering(id, next));
        }
        for edge in &self.always {
            graph.push(|next| self.after_taking(edge, ways, next));
        }
        graph
    }

    fn after_asking(&self, id: NodeId, ways: Ways, next: &mut Vec<u32>) {
        for number in self.candidates(id) {
            let unguarded = self.always[number as usize].unguarded;
            if unguarded || ways == Ways::Possible {
                next.push(self.take(number));
            }
            // A guarded candidate may leave the loop; an unguarded one is the last to be tried.
            if unguarded || ways == Ways::Certain {
                return;
            }
        }
        next.extend(self.index.parent(id).map(|parent| self.ask(parent)));
    }

    fn after_entering(&self, id: NodeId, next: &mut Vec<u32>) {
        match self.index.kind(id) {
            NodeKind::Compound => {
                if let Some(initial) = &self.index.node(id).initial {
                    self.enter_targets(&initial.targets, id, next);
                }
            }
            NodeKind::Parallel => next.extend(self.index.regions(id).map(|region| self.enter(region))),
            // A top-level final state ends the instance.
            NodeKind::Final if self.index.parent(id) == Some(NodeId::ROOT) => {}
            NodeKind::Atomic | NodeKind::Final => next.push(self.ask(id)),
            NodeKind::History(_) => {}
        }
    }

    fn after_taking(&self, edge: &TransitionEdge<'_>, ways: Ways, next: &mut Vec<u32>) {
        match edge.domain {
            Some(domain) => self.enter_targets(edge.targets(), domain, next),
            // The same states are tried again, from the innermost: a guarded one there may leave the loop.
            None if ways == Ways::Certain && self.has_always_below(edge.source) => {}
            None => next.push(self.ask(edge.source)),
        }
    }

    /// A history node's target depends on the past, so it is not followed.
    fn enter_targets(&self, targets: &[NodeId], domain: NodeId, next: &mut Vec<u32>) {
        entry::enter(self.index, targets, domain, &mut |entered| match entered {
            Entered::Default(id) => next.push(self.enter(id)),
            Entered::Beside(parallel) => self.enter_beside(parallel, targets, next),
            Entered::Passed(_) | Entered::History(_) => {}
        });
    }

    fn enter_beside(&self, parallel: NodeId, targets: &[NodeId], next: &mut Vec<u32>) {
        let few = self.index.regions_count(parallel) <= REGIONS_MAX;
        if let Some(spoken_for) = entry::spoken_for(self.index, targets, parallel).filter(|_| few) {
            let others = self.index.regions(parallel).filter(|region| !spoken_for.contains(region));
            next.extend(others.map(|region| self.enter(region)));
        }
    }

    fn has_always_below(&self, id: NodeId) -> bool {
        self.number[id.index() + 1] < self.number[self.index.last(id).index() + 1]
    }

    /// Reports each loop that no guard can stop; returns its eventless transitions.
    fn report_certain(&self, findings: &mut Vec<Finding>) -> Vec<bool> {
        let mut reported = vec![false; self.always.len()];
        self.each_cycle(&Cycles::new(self.graph(Ways::Certain)), |cycle| {
            cycle.iter().for_each(|number| reported[*number] = true);
            findings.push(self.certain(cycle));
        });
        reported
    }

    fn report_guarded(
        &self,
        doings: &ActionEffects<'_>,
        possible: &Cycles,
        reported: &[bool],
        findings: &mut Vec<Finding>,
    ) {
        if self.always.iter().all(|edge| edge.unguarded) {
            return;
        }
        let mut left = GUARDED_MAX;
        self.each_cycle(possible, |cycle| {
            left = left.saturating_sub(1);
            if left > 0
                && !cycle.iter().any(|number| reported[*number])
                && self.nothing_changes(doings, cycle)
            {
                findings.push(self.guarded(cycle));
            }
        });
    }

    /// Visits one cycle of each component, as indexes of eventless transitions.
    fn each_cycle(&self, Cycles { graph, component }: &Cycles, mut visit: impl FnMut(&[usize])) {
        let first_take = self.take(0);
        let mut seen = FxHashSet::default();
        for number in 0..self.always.len() as u32 {
            let vertex = self.take(number);
            let Some(found) = component[vertex as usize] else { continue };
            if seen.insert(found) {
                let cycle: Vec<usize> = cycle_through(graph, component, vertex)
                    .into_iter()
                    .filter_map(|vertex| vertex.checked_sub(first_take).map(|number| number as usize))
                    .collect();
                visit(&cycle);
            }
        }
    }

    /// Returns true if all guards of a cycle can hold together and nothing in the cycle can change that.
    fn nothing_changes(&self, doings: &ActionEffects<'_>, cycle: &[usize]) -> bool {
        let guards: Vec<_> =
            cycle.iter().filter_map(|number| self.always[*number].spec.guard.as_ref()).collect();
        // Candidates before one on the cycle would have to fail, which is not analysed here.
        let first =
            cycle.iter().all(|number| self.candidates(self.always[*number].source).start == *number as u32);
        let Some(reads) = guards::joint_reads(&guards).filter(|_| first) else { return false };
        let Some(top) = cycle
            .iter()
            .map(|number| self.always[*number])
            .map(|edge| edge.domain.unwrap_or(edge.source))
            .reduce(|a, b| self.index.common(a, b))
        else {
            return false;
        };
        let taken: FxHashSet<(NodeId, usize)> =
            cycle.iter().map(|number| self.always[*number]).map(|edge| (edge.source, edge.number)).collect();
        let on_the_way = |assigned: &&Assigned| match assigned.transition {
            Some(number) => taken.contains(&(assigned.node, number)),
            None => self.index.within(assigned.node, top),
        };
        !doings.assigned.iter().filter(on_the_way).any(|assigned| reads.contains(&assigned.slot))
    }

    fn route(&self, cycle: &[usize]) -> String {
        let mut names: Vec<String> = cycle
            .iter()
            .map(|number| format!("`{}`", self.index.path(self.always[*number].source)))
            .collect();
        names.dedup();
        if names.len() > ROUTE_MAX {
            names.splice(ROUTE_MAX / 2..names.len() - ROUTE_MAX / 2, ["…".to_owned()]);
        }
        names.extend(names.first().cloned());
        names.join(" → ")
    }

    fn certain(&self, cycle: &[usize]) -> Finding {
        let first = self.always[cycle[0]];
        let what = match (cycle.len(), first.domain) {
            (1, None) => format!(
                "eventless transition of `{}` has neither guard nor target, so it loops forever",
                self.index.path(first.source)
            ),
            _ => format!("eventless transitions without a guard loop forever: {}", self.route(cycle)),
        };
        self.point_at(EVENTLESS_CYCLE.at(self.index.trigger_span(first), what), cycle)
            .label("taken over and over")
            .help("give one of them a guard that becomes false, or wait for an event or a delay")
    }

    fn guarded(&self, cycle: &[usize]) -> Finding {
        let first = self.always[cycle[0]];
        let route = self.route(cycle);
        let what = format!("once the guard holds, eventless transitions loop forever: {route}");
        self.point_at(GUARDED_EVENTLESS_CYCLE.at(self.index.guard_span(first), what), cycle)
            .label("nothing in the cycle assigns what this reads")
            .help("assign what the guard reads within the cycle, or give the transition a target outside it")
    }

    fn point_at(&self, mut finding: Finding, cycle: &[usize]) -> Finding {
        for number in cycle.iter().skip(1).take(5) {
            finding = finding.related(self.index.trigger_span(self.always[*number]), "and then this one");
        }
        finding
    }
}
