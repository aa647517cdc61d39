//! `Macrostep`: one macrostep in progress. It owns the data of that lifetime: the internal queue, the effects, the undo
//! entries.

use std::collections::VecDeque;
use std::sync::Arc;

use smallvec::SmallVec;

use super::faults::ExpressionSite;
use super::trace::{MacrostepTrace, TraceEntry};
use super::undo::Undo;
use super::{Step, StepError, Tracing};
use crate::chart::Chart;
use crate::configuration::Active;
use crate::effect::Effect;
use crate::event::NamedEvent;
use crate::expr::{self, EvalError, EvalScope, Expr};
use crate::ids::{InvokeId, NodeId, TransitionId};
use crate::snapshot::{RareParts, Snapshot, UnhandledFailure};
use crate::tables::Tables;
use crate::value::Value;
use crate::world::Now;

/// Capacity for the trace of an ordinary step: 1,024 bytes, about the largest block that glibc allocates and frees on
/// its fast path.
const TRACE_ENTRIES: usize = 32;
const TRACE_ENTRIES_LONG: usize = 232;

/// An internal event.
pub(super) struct InternalEvent {
    pub(super) event: NamedEvent,
    /// Set if the event is about work that could not start.
    pub(super) failure: Option<Box<UnhandledFailure>>,
    /// Set if the event is about an item of this fan-out that could not start.
    pub(super) fan_out: Option<u64>,
}

pub(super) struct Macrostep<'a> {
    pub(super) chart: &'a Chart,
    pub(super) snapshot: &'a mut Snapshot,
    pub(super) now: Now<'a>,
    /// The event being processed; stays bound during eventless transitions.
    pub(super) event: Option<NamedEvent>,
    pub(super) queue: VecDeque<InternalEvent>,
    pub(super) effects: Vec<Effect>,
    /// Values of enclosing `foreach` items and indexes.
    pub(super) locals: Vec<Value>,
    /// Entered nodes whose invokes start once the macrostep rests.
    pub(super) to_invoke: SmallVec<[NodeId; 4]>,
    /// The lists of their `each`, evaluated on entry.
    pub(super) lists: Vec<(InvokeId, Result<Value, String>)>,
    /// Fan-outs to decide or to continue, with the item that ended.
    pub(super) to_advance: VecDeque<(u64, Option<u32>)>,
    /// Items of this macrostep that could not start and have a handler.
    pub(super) failed_starts: u32,
    /// Transitions whose guard failed to evaluate in this macrostep. Each is reported once: an eventless one is tried
    /// again after every internal event, including its own `error.execution`.
    pub(super) failed_guards: SmallVec<[TransitionId; 4]>,
    /// Indexes of the faults among the effects.
    pub(super) faults: Vec<usize>,
    /// Work that could not start and has not been handled so far.
    pub(super) unstarted: Vec<UnhandledFailure>,
    /// The current block of actions.
    pub(super) place: ExpressionSite,
    pub(super) trace: Option<MacrostepTrace>,
    pub(super) undo: Undo,
    pub(super) microsteps: u32,
    pub(super) handled: bool,
}

impl<'a> Macrostep<'a> {
    pub(super) fn new(chart: &'a Chart, snapshot: &'a mut Snapshot, now: Now<'a>, tracing: Tracing) -> Self {
        Self {
            chart,
            undo: Undo::new(snapshot),
            snapshot,
            now,
            event: None,
            queue: VecDeque::new(),
            effects: Vec::new(),
            locals: Vec::new(),
            to_invoke: SmallVec::new(),
            lists: Vec::new(),
            to_advance: VecDeque::new(),
            failed_starts: 0,
            failed_guards: SmallVec::new(),
            faults: Vec::new(),
            unstarted: Vec::new(),
            place: ExpressionSite::Entry(NodeId::ROOT),
            trace: match tracing {
                Tracing::Off => None,
                Tracing::On => Some(MacrostepTrace { entries: Vec::with_capacity(TRACE_ENTRIES) }),
            },
            microsteps: 0,
            handled: false,
        }
    }

    /// Converts the outcome to a step, or restores the snapshot.
    pub(super) fn finish(&mut self, result: Result<(), StepError>) -> Result<Step, StepError> {
        match result {
            Ok(()) => Ok(Step {
                number: self.snapshot.step,
                effects: std::mem::take(&mut self.effects),
                handled: self.handled,
                trace: self.trace.take().unwrap_or_default(),
            }),
            Err(error) => {
                self.undo.restore(self.snapshot);
                Err(error)
            }
        }
    }

    #[inline]
    pub(super) fn tables(&self) -> &'a Tables {
        &self.chart.tables
    }

    #[inline]
    pub(super) fn scope(&self) -> EvalScope<'_> {
        EvalScope {
            context: &self.snapshot.context,
            context_names: &self.chart.context_names,
            locals: &self.locals,
            event: self.event.as_ref(),
            input: self.snapshot.input(),
            now_ms: self.now.ms,
            world: self.now.world,
            instance: self.now.instance,
            configuration: self.active(),
            sizes: self.now.sizes,
        }
    }

    /// Evaluates a guard, or lets the oracle decide it.
    #[inline]
    pub(super) fn guard_holds(&self, guard: &Expr) -> Result<bool, EvalError> {
        match self.now.oracle {
            None => guard.eval_guard(&self.scope()),
            Some(oracle) if oracle.is_partial() => match guard.holds_partial(&self.scope())? {
                Some(truth) => Ok(truth),
                None if oracle.fails(guard) => Err(may_fail()),
                None => Ok(oracle.decide(guard, &self.scope())),
            },
            Some(oracle) if oracle.fails(guard) => Err(may_fail()),
            Some(oracle) => oracle.judge(guard, guard.eval_guard(&self.scope())),
        }
    }

    /// Evaluates an expression of an action, a delay or a template.
    #[inline]
    pub(super) fn value_of(&self, expr: &Expr) -> Result<Value, EvalError> {
        match self.now.oracle {
            None => expr.eval(&self.scope()),
            Some(oracle) if oracle.is_partial() => {
                let value = expr.eval_partial(&self.scope())?;
                if expr::has_unknown(&value) && oracle.fails(expr) { Err(may_fail()) } else { Ok(value) }
            }
            Some(oracle) if oracle.fails(expr) => Err(may_fail()),
            Some(_) => expr.eval(&self.scope()),
        }
    }

    /// Evaluates a list. One that is unknown is tried with few items.
    pub(super) fn list_of(&self, list: &Expr) -> Result<Value, EvalError> {
        let value = self.value_of(list)?;
        match self.now.oracle {
            Some(oracle) if oracle.is_partial() && expr::is_unknown(&value) => {
                oracle.bounded(list);
                let most = oracle.items_max();
                let length = (0..most).take_while(|_| oracle.decide(list, &self.scope())).count();
                Ok(Value::list(vec![expr::unknown(); length]))
            }
            _ => Ok(value),
        }
    }

    #[inline]
    pub(super) fn active(&self) -> Active<'_> {
        Active { frontier: self.snapshot.configuration.frontier(), last: &self.chart.tables.last }
    }

    pub(super) fn more_mut(&mut self) -> &mut RareParts {
        self.undo.more_mut(self.snapshot)
    }

    pub(super) fn next_id(&mut self) -> u64 {
        let more = self.more_mut();
        more.next_id += 1;
        more.next_id
    }

    /// Reserves consecutive ids and returns the first.
    pub(super) fn next_ids(&mut self, count: usize) -> u64 {
        let more = self.more_mut();
        let first = more.next_id + 1;
        more.next_id += count as u64;
        first
    }

    #[inline]
    pub(super) fn trace(&mut self, entry: impl FnOnce() -> TraceEntry) {
        if let Some(trace) = &mut self.trace {
            // Reserves space for a long step once; doubling would move it several times.
            if trace.entries.len() == trace.entries.capacity() {
                trace.entries.reserve(TRACE_ENTRIES_LONG);
            }
            trace.entries.push(entry());
        }
    }

    pub(super) fn raise(&mut self, event: NamedEvent) {
        self.trace(|| TraceEntry::Raised { event: Arc::clone(&event.name) });
        self.queue.push_back(InternalEvent { event, failure: None, fan_out: None });
    }

    pub(super) fn active_paths(&self) -> String {
        self.chart.leaf_paths(&self.snapshot.configuration).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn is_over(&self) -> bool {
        self.snapshot.status.is_over()
    }
}

/// The failure of an expression that an oracle lets fail.
#[cold]
fn may_fail() -> EvalError {
    EvalError { message: "the expression fails with other data".to_owned() }
}
