//! Transition selection: for each innermost active node in document order, from it outwards, the first enabled
//! candidate; then conflicts are resolved by exit sets. DESIGN section 3, after W3C SCXML.

use std::sync::Arc;

use smallvec::SmallVec;

use super::faults::ExpressionSite;
use super::run::Macrostep;
use super::trace::{CandidateOutcome, CandidateRefusal, TraceEntry};
use crate::compile;
use crate::fault::FaultKind;
use crate::ids::{NodeId, TransitionId};
use crate::tables::{NodeEntry, NodeRow, Tables, TransitionRoute};

/// A transition that will fire, with its exit domain. Small, because selections are copied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Selected {
    pub(super) id: TransitionId,
    /// Everything active below this node is left. `None` if nothing is left.
    pub(super) domain: Option<NodeId>,
}

impl Selected {
    /// Returns the nodes it enters, in document order. `None` if history is involved and they are known only after the
    /// exits.
    #[inline]
    pub(super) fn fixed_entries<'s>(&self, tables: &'s Tables) -> Option<&'s [NodeEntry]> {
        match &tables.transition(self.id).route {
            TransitionRoute::Fixed { entries, .. } => Some(&tables.entries[entries.usize()]),
            TransitionRoute::Targetless => Some(&[]),
            TransitionRoute::ByHistory { .. } => None,
        }
    }

    /// Returns the target leaves of a plain move.
    #[inline]
    pub(super) fn plain<'s>(&self, tables: &'s Tables) -> Option<&'s [NodeId]> {
        match &tables.transition(self.id).route {
            TransitionRoute::Fixed { plain: Some(plain), .. } => Some(&tables.leaves[plain.leaves.usize()]),
            TransitionRoute::Fixed { plain: None, .. }
            | TransitionRoute::Targetless
            | TransitionRoute::ByHistory { .. } => None,
        }
    }

    /// Returns true if it leaves and enters nothing.
    #[inline]
    pub(super) fn stays(&self, tables: &Tables) -> bool {
        self.domain.is_none() && self.fixed_entries(tables).is_some_and(<[NodeEntry]>::is_empty)
    }
}

pub(super) type SelectedTransitions = SmallVec<[Selected; 4]>;

/// The candidates to look for.
#[derive(Clone, Copy)]
enum CandidateFilter<'m> {
    /// Candidates for these descriptors, best first.
    Matching(&'m [u32]),
    Eventless,
}

impl CandidateFilter<'_> {
    /// Returns this node or the nearest ancestor that may have such a candidate.
    #[inline]
    fn nearest(self, node: &NodeRow) -> Option<NodeId> {
        match self {
            CandidateFilter::Matching(_) => node.next_handling,
            CandidateFilter::Eventless => node.next_eventless,
        }
    }
}

impl Macrostep<'_> {
    /// Selects the transitions for the current event.
    pub(super) fn select_for_event(&mut self) -> SelectedTransitions {
        let Some(event) = &self.event else { return SelectedTransitions::new() };
        let matching = self.chart.tables.events.matching(&event.name);
        let name = self.trace.as_ref().map(|_| Arc::clone(&event.name));
        self.trace(|| TraceEntry::Considered { event: name });
        if matching.is_empty() {
            return SelectedTransitions::new();
        }
        self.select(CandidateFilter::Matching(&matching))
    }

    pub(super) fn select_eventless(&mut self) -> SelectedTransitions {
        if !self.tables().any_always {
            return SelectedTransitions::new();
        }
        self.select(CandidateFilter::Eventless)
    }

    /// Selects the first enabled transition of one node's list: timers consider only their own.
    pub(super) fn select_among(&mut self, candidates: &[TransitionId]) -> SelectedTransitions {
        let mut found = SelectedTransitions::new();
        if let Some(id) = self.first_enabled(candidates) {
            found.push(self.selected(id));
            self.trace(|| TraceEntry::Candidate { transition: id, outcome: CandidateOutcome::Taken });
        }
        found
    }

    fn select(&mut self, wanted: CandidateFilter<'_>) -> SelectedTransitions {
        let enabled = match *self.snapshot.configuration.frontier() {
            [leaf] => self.enabled_above(leaf, wanted).into_iter().collect(),
            _ => self.enabled(wanted),
        };
        match enabled[..] {
            [] => SelectedTransitions::new(),
            [only] => {
                self.trace(|| TraceEntry::Candidate { transition: only, outcome: CandidateOutcome::Taken });
                let mut found = SelectedTransitions::new();
                found.push(self.selected(only));
                found
            }
            _ => self.without_conflicts(&enabled),
        }
    }

    /// Returns the first enabled candidate from a node outwards.
    fn enabled_above(&mut self, leaf: NodeId, wanted: CandidateFilter<'_>) -> Option<TransitionId> {
        let tables = self.tables();
        let mut at = wanted.nearest(tables.node(leaf));
        while let Some(node) = at {
            let found = self.candidate_of(node, wanted);
            if found.is_some() {
                return found;
            }
            at = tables.node(node).parent.and_then(|parent| wanted.nearest(tables.node(parent)));
        }
        None
    }

    /// Returns the enabled candidates of all innermost nodes. Shared ancestors are evaluated only once, because the
    /// result is the same.
    fn enabled(&mut self, wanted: CandidateFilter<'_>) -> SmallVec<[TransitionId; 4]> {
        let tables = self.tables();
        let mut enabled = SmallVec::new();
        let mut asked: SmallVec<[NodeId; 8]> = SmallVec::new();
        let mut previous: Option<NodeId> = None;
        for index in 0..self.snapshot.configuration.frontier().len() {
            let leaf = self.snapshot.configuration.frontier()[index];
            let mut at = wanted.nearest(tables.node(leaf));
            while let Some(node) = at {
                let is_shared = previous.is_some_and(|previous| node <= previous);
                if is_shared && asked.contains(&node) {
                    break;
                }
                asked.push(node);
                if let Some(id) = self.candidate_of(node, wanted) {
                    enabled.push(id);
                    break;
                }
                at = tables.node(node).parent.and_then(|parent| wanted.nearest(tables.node(parent)));
            }
            previous = Some(leaf);
        }
        enabled
    }

    #[inline]
    fn candidate_of(&mut self, node: NodeId, wanted: CandidateFilter<'_>) -> Option<TransitionId> {
        let tables = self.tables();
        let entry = tables.node(node);
        match wanted {
            CandidateFilter::Eventless if entry.always.is_empty() => None,
            CandidateFilter::Eventless => {
                self.trace(|| TraceEntry::Considered { event: None });
                self.first_enabled(&tables.candidates[entry.always.usize()])
            }
            CandidateFilter::Matching(descriptors) => {
                let handlers = &tables.handlers[entry.handlers.usize()];
                for descriptor in descriptors {
                    let Some(handler) = handlers.iter().find(|handler| handler.descriptor == *descriptor)
                    else {
                        continue;
                    };
                    let found = self.first_enabled(&tables.candidates[handler.candidates.usize()]);
                    if found.is_some() {
                        return found;
                    }
                }
                None
            }
        }
    }

    fn first_enabled(&mut self, candidates: &[TransitionId]) -> Option<TransitionId> {
        for id in candidates {
            let Some(guard) = &self.tables().transition(*id).guard else { return Some(*id) };
            match self.guard_holds(&guard.expr) {
                Ok(true) => return Some(*id),
                Ok(false) => self.refuse(*id, CandidateRefusal::GuardFalse),
                Err(error) => {
                    let message = format!("`{}`: {}", guard.text, error.message);
                    self.refuse(*id, CandidateRefusal::GuardFailed(Box::new(error)));
                    if !self.failed_guards.contains(id) {
                        self.failed_guards.push(*id);
                        self.fail(FaultKind::Guard, ExpressionSite::Transition(*id), message, None);
                    }
                }
            }
        }
        None
    }

    fn refuse(&mut self, transition: TransitionId, refusal: CandidateRefusal) {
        self.trace(|| TraceEntry::Candidate { transition, outcome: CandidateOutcome::Refused(refusal) });
    }

    fn selected(&self, id: TransitionId) -> Selected {
        let tables = self.tables();
        let transition = tables.transition(id);
        let domain = match &transition.route {
            TransitionRoute::Targetless => None,
            TransitionRoute::Fixed { domain, .. } => Some(*domain),
            TransitionRoute::ByHistory { targets } => {
                Some(compile::domain_by_history(tables, transition, targets, &self.snapshot.more))
            }
        };
        // A node without active descendants (an atomic source that targets itself) leaves nothing.
        let domain = domain.filter(|domain| tables.last[domain.index()] != *domain);
        Selected { id, domain }
    }

    /// Two transitions conflict if their exit sets intersect; domains are subtrees, so that is the case if one domain
    /// lies within the other. The inner source takes precedence, else the earlier in document order.
    fn without_conflicts(&mut self, enabled: &[TransitionId]) -> SelectedTransitions {
        let tables = self.tables();
        let mut kept = SelectedTransitions::new();
        let mut preempted: SmallVec<[(TransitionId, TransitionId); 4]> = SmallVec::new();
        // Usually each domain begins after the previous ones have ended: then there is nothing to compare.
        let mut end: Option<NodeId> = None;
        for id in enabled {
            let one = self.selected(*id);
            let is_apart = one.domain.is_none_or(|domain| end.is_none_or(|end| domain > end));
            end = end.max(one.domain.map(|domain| tables.last[domain.index()]));
            if is_apart {
                kept.push(one);
                continue;
            }
            let conflicts = |other: &Selected| match (one.domain, other.domain) {
                (Some(a), Some(b)) => tables.is_within(a, b) || tables.is_within(b, a),
                _ => false,
            };
            let source = tables.transition(one.id).source;
            let is_inside = |other: NodeId| other != source && tables.is_within(source, other);
            let winner =
                kept.iter().find(|other| conflicts(other) && !is_inside(tables.transition(other.id).source));
            if let Some(winner) = winner {
                preempted.push((one.id, winner.id));
                continue;
            }
            preempted.extend(kept.iter().filter(|other| conflicts(other)).map(|other| (other.id, one.id)));
            kept.retain(|other| !conflicts(other));
            kept.push(one);
        }
        if let Some(trace) = &mut self.trace {
            trace.entries.extend(preempted.into_iter().map(|(transition, by)| TraceEntry::Candidate {
                transition,
                outcome: CandidateOutcome::Refused(CandidateRefusal::Preempted { by }),
            }));
            trace.entries.extend(
                kept.iter().map(|one| TraceEntry::Candidate {
                    transition: one.id,
                    outcome: CandidateOutcome::Taken,
                }),
            );
        }
        kept
    }
}
