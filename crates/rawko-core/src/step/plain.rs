//! Fast path for the most common step: one innermost state, one unguarded transition, and no side effects. Taken
//! without setting up a [`Macrostep`](super::run::Macrostep). [`targetless`](super::targetless) is the other fast path;
//! all other steps use the full algorithm, which would give the same result.

use std::sync::Arc;

use super::{CandidateOutcome, MacrostepTrace, Step, TraceEntry, Tracing};
use crate::chart::Chart;
use crate::ids::{NodeId, TransitionId};
use crate::snapshot::{Snapshot, Status};
use crate::tables::{EventHandler, TransitionRoute};

/// A step on the fast path.
#[derive(Clone, Copy)]
pub(super) struct PlainStep {
    transition: TransitionId,
    from: NodeId,
    to: NodeId,
}

impl PlainStep {
    /// Returns the step of this handler if it qualifies.
    #[inline]
    pub(super) fn of(chart: &Chart, from: NodeId, handler: &EventHandler) -> Option<Self> {
        let target = handler.plain.filter(|target| chart.tables.is_quiet_to_leave(from, target.domain))?;
        let transition = chart.tables.candidates[handler.candidates.start as usize];
        Some(Self { transition, from, to: target.leaf })
    }

    #[inline]
    pub(super) fn take(
        self,
        chart: &Chart,
        snapshot: &mut Snapshot,
        event: Arc<str>,
        tracing: Tracing,
    ) -> Step {
        snapshot.configuration.replace_only(self.to);
        snapshot.step += 1;
        let trace = match tracing {
            Tracing::Off => MacrostepTrace::default(),
            Tracing::On => self.trace(chart, event),
        };
        Step { number: snapshot.step, handled: true, trace, ..Step::default() }
    }

    fn trace(self, chart: &Chart, event: Arc<str>) -> MacrostepTrace {
        let tables = &chart.tables;
        let mut entries = Vec::with_capacity(8);
        entries.push(TraceEntry::Considered { event: Some(event) });
        entries.push(TraceEntry::Candidate { transition: self.transition, outcome: CandidateOutcome::Taken });
        if let TransitionRoute::Fixed { domain, entries: entered, .. } =
            &tables.transition(self.transition).route
        {
            let mut at = Some(self.from);
            while let Some(node) = at.filter(|node| node != domain) {
                entries.push(TraceEntry::Exited { node });
                at = tables.node(node).parent;
            }
            let entered = &tables.entries[entered.usize()];
            entries.extend(entered.iter().map(|entry| TraceEntry::Entered { node: entry.node }));
        }
        MacrostepTrace { entries }
    }
}

/// Returns the only innermost state and its handler for this event, if the step may be taken on a fast path.
#[inline]
pub(super) fn find_handler<'c>(
    chart: &'c Chart,
    snapshot: &Snapshot,
    event: &str,
) -> Option<(NodeId, &'c EventHandler)> {
    let [leaf] = *snapshot.configuration.frontier() else { return None };
    // The event may belong to a running invocation, and deferred events are retried after a move.
    let is_idle = snapshot.more.as_ref().is_none_or(|more| {
        more.invocations.is_empty() && more.fan_outs.is_empty() && more.deferred.is_empty()
    });
    if snapshot.status != Status::Active || !is_idle || chart.microsteps_max == 0 {
        return None;
    }
    handler(chart, leaf, event).map(|handler| (leaf, handler))
}

/// Returns the first handler from the leaf outwards, as in selection.
#[inline]
fn handler<'c>(chart: &'c Chart, leaf: NodeId, event: &str) -> Option<&'c EventHandler> {
    let tables = &chart.tables;
    let start = tables.node(leaf);
    if !start.has_shortcut {
        return None;
    }
    let descriptors = tables.events.known(event)?;
    let mut at = start.next_handling;
    while let Some(id) = at {
        let node = tables.node(id);
        let handlers = &tables.handlers[node.handlers.usize()];
        for descriptor in descriptors {
            let found = handlers.iter().find(|handler| handler.descriptor == *descriptor);
            if found.is_some() {
                return found;
            }
        }
        at = node.parent.and_then(|parent| tables.node(parent).next_handling);
    }
    None
}
