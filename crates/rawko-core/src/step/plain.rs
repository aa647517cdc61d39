//! The commonest step of all: one innermost state, one transition without a guard, and nothing to do on the way. It is
//! taken here without setting up a [`Run`](super::run::Run). Everything else is left to the whole algorithm, which
//! would give the same.

use std::sync::Arc;

use super::{Outcome, Step, Trace, TraceEntry, Tracing};
use crate::chart::Chart;
use crate::event::NamedEvent;
use crate::ids::{NodeId, TransitionId};
use crate::snapshot::{Snapshot, Status};
use crate::tables::{Handler, Route};

/// A step that can be taken so.
#[derive(Clone, Copy)]
pub(super) struct PlainStep {
    transition: TransitionId,
    from: NodeId,
    to: NodeId,
}

impl PlainStep {
    /// What this event does, if it is that simple.
    #[inline]
    pub(super) fn find(chart: &Chart, snapshot: &Snapshot, event: &NamedEvent) -> Option<Self> {
        let [from] = *snapshot.configuration.frontier() else { return None };
        // A running invocation may be what the event is about, and deferred events get their chance after a move.
        let is_idle =
            snapshot.more.as_ref().is_none_or(|more| more.invocations.is_empty() && more.deferred.is_empty());
        if snapshot.status != Status::Active || !is_idle || chart.microsteps_max == 0 {
            return None;
        }
        let handler = handler(chart, from, &event.name)?;
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
            Tracing::Off => Trace::default(),
            Tracing::On => self.trace(chart, event),
        };
        Step { number: snapshot.step, handled: true, trace, ..Step::default() }
    }

    fn trace(self, chart: &Chart, event: Arc<str>) -> Trace {
        let tables = &chart.tables;
        let mut entries = Vec::with_capacity(8);
        entries.push(TraceEntry::Considered { event: Some(event) });
        entries.push(TraceEntry::Candidate { transition: self.transition, outcome: Outcome::Taken });
        if let Route::Fixed { domain, entries: entered, .. } = &tables.transition(self.transition).route {
            let mut at = Some(self.from);
            while let Some(node) = at.filter(|node| node != domain) {
                entries.push(TraceEntry::Exited { node });
                at = tables.node(node).parent;
            }
            let entered = &tables.entries[entered.usize()];
            entries.extend(entered.iter().map(|entry| TraceEntry::Entered { node: entry.node }));
        }
        Trace { entries }
    }
}

/// The first handler from the leaf outwards decides, as in selection; unless it is plain, so does nobody here.
#[inline]
fn handler<'c>(chart: &'c Chart, leaf: NodeId, event: &str) -> Option<&'c Handler> {
    let tables = &chart.tables;
    let start = tables.node(leaf);
    if !start.has_plain {
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
