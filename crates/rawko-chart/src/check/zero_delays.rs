//! Infinite loops of timers of 0 ms. Each firing is a step of its own, so the limit on microsteps does not end them.
//! Successors form a graph over three kinds of vertices, as for eventless transitions:
//!
//! - `Enter(n)`: state `n` is entered by default, and continues to its initial states;
//! - `Pass(n)`: state `n` is entered on the way to a state inside it;
//! - `Take(e)`: a transition `e` without a guard, eventless or with a delay of 0, is taken.
//!
//! Only unguarded edges are followed. A guarded eventless transition anywhere around a timer may leave the loop, so
//! that timer is not reported.

use rawko_core::{ActionBlueprint, ActionKind, Delay, NodeId, NodeKind, TransitionTrigger};
use rustc_hash::FxHashSet;

use super::cycles::{Successors, components, cycle_through};
use super::entry::{self, Entered};
use super::index::{ChartIndex, TransitionEdge};
use crate::codes::ZERO_DELAY_CYCLE;
use crate::finding::Finding;

/// See [`super::eventless`].
const REGIONS_MAX: usize = 64;
const ROUTE_MAX: usize = 8;

pub(crate) fn analyse(index: &ChartIndex<'_>, findings: &mut Vec<Finding>) {
    if !index.edges.iter().any(|edge| is_zero_timer(index, edge)) {
        return;
    }
    let chart = ZeroDelayTimers::new(index);
    let graph = chart.graph();
    let component = components(&graph);
    let mut seen = FxHashSet::default();
    for number in 0..index.edges.len() {
        let vertex = chart.take(number);
        let Some(found) = component[vertex as usize] else { continue };
        if !is_zero_timer(index, &index.edges[number]) || !seen.insert(found) {
            continue;
        }
        let first = chart.take(0);
        let cycle: Vec<&TransitionEdge<'_>> = cycle_through(&graph, &component, vertex)
            .into_iter()
            .filter_map(|vertex| vertex.checked_sub(first).map(|number| &index.edges[number as usize]))
            .collect();
        if !cycle.iter().any(|edge| chart.may_leave(edge)) {
            findings.push(chart.finding(&cycle));
        }
    }
}

fn is_zero_timer(index: &ChartIndex<'_>, edge: &TransitionEdge<'_>) -> bool {
    match edge.spec.trigger {
        TransitionTrigger::After(timer) => {
            matches!(index.node(edge.source).timers.get(timer), Some(Delay::Millis(0)))
        }
        TransitionTrigger::Event(_) | TransitionTrigger::Always | TransitionTrigger::Item { .. } => false,
    }
}

struct ZeroDelayTimers<'i, 'a> {
    index: &'i ChartIndex<'a>,
    /// The first eventless transition of this state or of the nearest enclosing one that has any.
    always: Vec<Option<usize>>,
}

impl<'i, 'a> ZeroDelayTimers<'i, 'a> {
    fn new(index: &'i ChartIndex<'a>) -> Self {
        let mut always: Vec<Option<usize>> = Vec::with_capacity(index.nodes.len());
        for id in index.ids() {
            let own = index.edges_of(id).iter().position(TransitionEdge::is_always);
            let inherited = index.parent(id).and_then(|parent| always[parent.index()]);
            always.push(own.map(|number| index.first_edge(id) + number).or(inherited));
        }
        ZeroDelayTimers { index, always }
    }

    fn enter(&self, id: NodeId) -> u32 {
        id.0
    }

    fn pass(&self, id: NodeId) -> u32 {
        self.index.nodes.len() as u32 + id.0
    }

    fn take(&self, number: usize) -> u32 {
        2 * self.index.nodes.len() as u32 + number as u32
    }

    fn graph(&self) -> Successors {
        let mut graph = Successors::default();
        for id in self.index.ids() {
            graph.push(|next| self.after_entering(id, next));
        }
        for id in self.index.ids() {
            graph.push(|next| self.add_timer(id, next));
        }
        for edge in &self.index.edges {
            graph.push(|next| self.after_taking(edge, next));
        }
        graph
    }

    fn after_entering(&self, id: NodeId, next: &mut Vec<u32>) {
        self.add_timer(id, next);
        match self.index.kind(id) {
            NodeKind::Compound => {
                if let Some(initial) = &self.index.node(id).initial {
                    self.enter_targets(&initial.targets, id, next);
                }
            }
            NodeKind::Parallel => next.extend(self.index.regions(id).map(|region| self.enter(region))),
            NodeKind::Atomic => {
                let first = self.always[id.index()].filter(|number| self.index.edges[*number].unguarded);
                next.extend(first.map(|number| self.take(number)));
            }
            NodeKind::Final | NodeKind::History(_) => {}
        }
    }

    /// Adds the timer of 0 ms that fires first, if nothing can leave the state before.
    fn add_timer(&self, id: NodeId, next: &mut Vec<u32>) {
        let own = self.index.edges_of(id);
        let Some(number) = own.iter().position(|edge| is_zero_timer(self.index, edge)) else { return };
        let has_always = self.always[id.index()].is_some()
            || self.index.edges_within(id).iter().any(TransitionEdge::is_always);
        if own[number].unguarded && !has_always {
            next.push(self.take(self.index.first_edge(id) + number));
        }
    }

    fn after_taking(&self, edge: &TransitionEdge<'_>, next: &mut Vec<u32>) {
        if let Some(domain) = edge.domain.filter(|_| edge.unguarded) {
            self.enter_targets(edge.targets(), domain, next);
        }
    }

    fn enter_targets(&self, targets: &[NodeId], domain: NodeId, next: &mut Vec<u32>) {
        entry::enter(self.index, targets, domain, &mut |entered| match entered {
            // An atomic state that targets itself without `reenter` is not left: its timer does not start again.
            Entered::Default(id) if id == domain => {}
            Entered::Default(id) => next.push(self.enter(id)),
            Entered::Passed(id) => next.push(self.pass(id)),
            Entered::Beside(parallel) => {
                let few = self.index.regions_count(parallel) <= REGIONS_MAX;
                if let Some(spoken_for) = entry::spoken_for(self.index, targets, parallel).filter(|_| few) {
                    let others = self.index.regions(parallel).filter(|region| !spoken_for.contains(region));
                    next.extend(others.map(|region| self.enter(region)));
                }
            }
            Entered::History(_) => {}
        });
    }

    /// Returns true if something may happen before the transition is taken that leads elsewhere: an event that its own
    /// state raises, or the completion of that state.
    fn may_leave(&self, edge: &TransitionEdge<'_>) -> bool {
        let index = self.index;
        let raises_on_entry = (edge.source.0..=index.last(edge.source).0)
            .any(|node| index.node(NodeId(node)).entry.iter().any(raises));
        raises_on_entry || edge.spec.actions.iter().any(raises) || index.completes[edge.source.index()]
    }

    fn finding(&self, cycle: &[&TransitionEdge<'_>]) -> Finding {
        let mut names: Vec<String> =
            cycle.iter().map(|edge| format!("`{}`", self.index.path(edge.source))).collect();
        names.dedup();
        if names.len() > ROUTE_MAX {
            names.splice(ROUTE_MAX / 2..names.len() - ROUTE_MAX / 2, ["…".to_owned()]);
        }
        names.extend(names.first().cloned());
        let what = format!("timers of 0 ms without a guard loop forever: {}", names.join(" → "));
        let mut finding = ZERO_DELAY_CYCLE.at(self.index.trigger_span(cycle[0]), what);
        for edge in cycle.iter().skip(1).take(5) {
            finding = finding.related(self.index.trigger_span(edge), "then this one");
        }
        finding
            .label("fires immediately, over and over")
            .help("give one of the timers a delay, or a guard that becomes false, or wait for an event")
    }
}

fn raises(action: &ActionBlueprint) -> bool {
    match &action.kind {
        ActionKind::Raise { .. } | ActionKind::Send { .. } => true,
        ActionKind::Choose { branches } => branches.iter().any(|(_, actions)| actions.iter().any(raises)),
        ActionKind::Foreach(foreach) => foreach.actions.iter().any(raises),
        ActionKind::Assign(_)
        | ActionKind::Emit { .. }
        | ActionKind::Cancel { .. }
        | ActionKind::Call { .. }
        | ActionKind::Log { .. } => false,
    }
}
