//! Fast path for a step that only assigns: one innermost state, a transition without a target whose actions are all
//! assigns, and no eventless transition that fires. Taken without setting up a [`Macrostep`]. All other steps are left
//! to the full algorithm, which would give the same result.

use std::sync::Arc;

use smallvec::SmallVec;

use super::run::Macrostep;
use super::trace::{CandidateOutcome, CandidateRefusal, MacrostepTrace, TraceEntry};
use super::{Step, StepError, Tracing};
use crate::blueprint::ActionKind;
use crate::chart::Chart;
use crate::configuration::Active;
use crate::event::NamedEvent;
use crate::expr::{EvalScope, Expr};
use crate::ids::{LabelId, NodeId, Slot, TransitionId};
use crate::snapshot::Snapshot;
use crate::tables::EventHandler;
use crate::value::Value;
use crate::world::Now;

/// Capacity for the trace of such a step.
const TRACE_ENTRIES: usize = 8;

/// Previous values of written slots, in order of writing.
type WrittenSlots = SmallVec<[(Slot, Value); 4]>;

/// The full algorithm has to take the step; the snapshot is unchanged.
struct NotTargetless;

/// A step on this path, as far as it has come.
pub(super) struct TargetlessStep<'a> {
    chart: &'a Chart,
    snapshot: &'a mut Snapshot,
    leaf: NodeId,
    now: Now<'a>,
    written: WrittenSlots,
    trace: Option<Vec<TraceEntry>>,
}

impl<'a> TargetlessStep<'a> {
    pub(super) fn new(
        chart: &'a Chart,
        snapshot: &'a mut Snapshot,
        leaf: NodeId,
        now: Now<'a>,
        tracing: Tracing,
    ) -> Self {
        let trace = match tracing {
            Tracing::Off => None,
            Tracing::On => Some(Vec::with_capacity(TRACE_ENTRIES)),
        };
        Self { chart, snapshot, leaf, now, written: SmallVec::new(), trace }
    }

    /// Takes the step for this event. Returns the event, with the snapshot unchanged, if it is none of this kind.
    #[inline]
    pub(super) fn take(
        mut self,
        handler: &EventHandler,
        event: NamedEvent,
    ) -> Result<Result<Step, StepError>, NamedEvent> {
        if self.now.oracle.is_some() {
            return Err(event);
        }
        if self.act(handler, &event).is_err() {
            for (slot, value) in self.written.drain(..).rev() {
                self.snapshot.context[slot.index()] = value;
            }
            return Err(event);
        }
        self.snapshot.step += 1;
        let considered = self.trace.as_ref().map_or(0, Vec::len);
        if self.comes_to_rest(&event) {
            let trace = MacrostepTrace { entries: self.trace.unwrap_or_default() };
            let number = self.snapshot.step;
            return Ok(Ok(Step { number, effects: Vec::new(), handled: true, trace }));
        }
        Ok(self.settle(event, considered))
    }

    /// Selects the transition and runs its assigns.
    #[inline]
    fn act(&mut self, handler: &EventHandler, event: &NamedEvent) -> Result<(), NotTargetless> {
        let tables = &self.chart.tables;
        self.trace(|| TraceEntry::Considered { event: Some(Arc::clone(&event.name)) });
        for id in &tables.candidates[handler.candidates.usize()] {
            let transition = tables.transition(*id);
            if !transition.only_assigns {
                return Err(NotTargetless);
            }
            if !self.is_enabled(*id, event)? {
                continue;
            }
            self.trace(|| TraceEntry::Candidate { transition: *id, outcome: CandidateOutcome::Taken });
            for action in &transition.actions {
                let ActionKind::Assign(updates) = &action.kind else { return Err(NotTargetless) };
                self.assign(updates, action.label_id, event)?;
            }
            return Ok(());
        }
        Err(NotTargetless)
    }

    #[inline]
    fn is_enabled(&mut self, id: TransitionId, event: &NamedEvent) -> Result<bool, NotTargetless> {
        let Some(guard) = &self.chart.tables.transition(id).guard else { return Ok(true) };
        let holds = guard.expr.eval_guard(&self.scope(event)).map_err(|_| NotTargetless)?;
        if !holds {
            let outcome = CandidateOutcome::Refused(CandidateRefusal::GuardFalse);
            self.trace(|| TraceEntry::Candidate { transition: id, outcome });
        }
        Ok(holds)
    }

    #[inline]
    fn assign(
        &mut self,
        updates: &[(Slot, Expr)],
        label: LabelId,
        event: &NamedEvent,
    ) -> Result<(), NotTargetless> {
        if let [(slot, expr)] = updates {
            let value = expr.eval(&self.scope(event)).map_err(|_| NotTargetless)?;
            self.check(std::iter::once((*slot, &value)))?;
            self.write(*slot, value, Some(label));
            return Ok(());
        }
        let mut values: SmallVec<[Value; 4]> = SmallVec::new();
        for (_, expr) in updates {
            values.push(expr.eval(&self.scope(event)).map_err(|_| NotTargetless)?);
        }
        self.check(updates.iter().map(|(slot, _)| *slot).zip(&values))?;
        let mut action = Some(label);
        for ((slot, _), value) in updates.iter().zip(values) {
            self.write(*slot, value, action.take());
        }
        Ok(())
    }

    #[inline]
    fn check<'v>(
        &self,
        updates: impl Iterator<Item = (Slot, &'v Value)> + Clone,
    ) -> Result<(), NotTargetless> {
        let Some(rules) = &self.chart.context_rules else { return Ok(()) };
        if rules.refuse(&self.snapshot.context, updates).is_some() { Err(NotTargetless) } else { Ok(()) }
    }

    #[inline]
    fn write(&mut self, slot: Slot, value: Value, action: Option<LabelId>) {
        self.trace(|| TraceEntry::Assigned { slot, value: value.clone(), action });
        let old = std::mem::replace(&mut self.snapshot.context[slot.index()], value);
        self.written.push((slot, old));
    }

    /// Returns true if no eventless transition is enabled.
    #[inline]
    fn comes_to_rest(&mut self, event: &NamedEvent) -> bool {
        let tables = &self.chart.tables;
        let mut at = tables.node(self.leaf).next_eventless;
        while let Some(node) = at {
            let node = tables.node(node);
            self.trace(|| TraceEntry::Considered { event: None });
            for id in &tables.candidates[node.always.usize()] {
                match self.is_enabled(*id, event) {
                    Ok(false) => {}
                    Ok(true) | Err(NotTargetless) => return false,
                }
            }
            at = node.parent.and_then(|parent| tables.node(parent).next_eventless);
        }
        true
    }

    /// Hands over to the full algorithm after the first microstep.
    #[cold]
    fn settle(self, event: NamedEvent, considered: usize) -> Result<Step, StepError> {
        let Self { chart, snapshot, now, written, mut trace, .. } = self;
        if let Some(entries) = &mut trace {
            entries.truncate(considered);
        }
        let mut run = Macrostep::new(chart, snapshot, now, Tracing::Off);
        run.trace = trace.map(|entries| MacrostepTrace { entries });
        let result = run.go_on(event, written);
        run.finish(result)
    }

    #[inline]
    fn scope<'s>(&'s self, event: &'s NamedEvent) -> EvalScope<'s> {
        EvalScope {
            context: &self.snapshot.context,
            context_names: &self.chart.context_names,
            locals: &[],
            event: Some(event),
            input: self.snapshot.input(),
            now_ms: self.now.ms,
            world: self.now.world,
            instance: self.now.instance,
            configuration: Active {
                frontier: self.snapshot.configuration.frontier(),
                last: &self.chart.tables.last,
            },
            sizes: self.now.sizes,
        }
    }

    #[inline]
    fn trace(&mut self, entry: impl FnOnce() -> TraceEntry) {
        if let Some(entries) = &mut self.trace {
            entries.push(entry());
        }
    }
}
