//! Work that could not start: an invoke or an `after` timer with a failing expression. The chart can handle it within
//! the same macrostep; if it does not, the instance stalls, because nothing else would ever end the wait.

use std::sync::Arc;

use super::StepError;
use super::faults::clipped;
use super::run::{InternalEvent, Macrostep};
use super::trace::TraceEntry;
use crate::effect::Effect;
use crate::fault::{Fault, FaultKind};
use crate::ids::NodeId;
use crate::snapshot::{FailedWork, Invocation, Status, UnhandledFailure};
use crate::value::Value;

impl Macrostep<'_> {
    /// Handles an invoke whose `src`, `input` or `timeout` fails: it has failed permanently, without any attempt.
    #[cold]
    pub(super) fn invoke_not_started(&mut self, invocation: Invocation, reason: String) {
        let id = Arc::clone(&self.tables().invoke(invocation.invoke).id);
        let state = Arc::clone(&self.chart.node(invocation.node).path);
        let message = clipped(reason);
        self.record_fault(Fault {
            what: FaultKind::Invoke,
            state,
            at: Arc::clone(&id),
            message: Arc::clone(&message),
        });
        let message = format!("invoke `{id}`: {message}");
        self.trace(|| TraceEntry::Failed { message: message.clone() });
        let error = Value::map([
            ("category", Value::str("execution")),
            ("message", Value::from(message)),
            ("retryable", Value::Bool(false)),
        ]);
        let event = self.result_event("error.invoke", &invocation, error.clone());
        self.trace(|| TraceEntry::Raised { event: Arc::clone(&event.name) });
        let failure = Some(Box::new(UnhandledFailure { work: FailedWork::Invocation(invocation), error }));
        self.queue.push_back(InternalEvent { event, failure, fan_out: None });
    }

    /// Handles an `after` whose delay fails.
    #[cold]
    pub(super) fn timer_not_started(&mut self, node: NodeId, index: u32, reason: String) {
        let state = Arc::clone(&self.chart.node(node).path);
        let at = self.chart.timer_label(node, index).into();
        let told = format!("delay of `{state}`: {reason}");
        self.record_fault(Fault { what: FaultKind::Delay, state, at, message: clipped(reason) });
        let error = Value::map([
            ("category", Value::str("execution")),
            ("message", Value::str(&told)),
            ("retryable", Value::Bool(false)),
        ]);
        let failure = UnhandledFailure { work: FailedWork::Timer { node, index }, error };
        self.raise_execution_error(told, None, Some(Box::new(failure)));
    }

    /// Processes one internal event.
    pub(super) fn take_raised(&mut self, raised: InternalEvent) -> Result<(), StepError> {
        if let Some(fan_out) = raised.fan_out {
            return self.handle_item(fan_out, raised.event, true);
        }
        self.event = Some(raised.event);
        let selection = self.select_for_event();
        if !selection.is_empty() {
            return self.microstep(selection);
        }
        if let Some(failure) = raised.failure {
            self.not_handled_at_start(failure);
        }
        Ok(())
    }

    /// An invoke without `onError` is raised again as `error.execution`, which many charts handle at their root.
    #[cold]
    fn not_handled_at_start(&mut self, failure: Box<UnhandledFailure>) {
        let is_second = self.event.as_ref().is_some_and(|event| &*event.name == "error.execution");
        match (&failure.work, is_second) {
            (FailedWork::Invocation(_), false) => {
                let message = failure.error.get("message").as_str().unwrap_or_default().to_owned();
                self.raise_execution_error(message, None, Some(failure));
            }
            (FailedWork::Invocation(_), true) | (FailedWork::Timer { .. } | FailedWork::FanOut(_), _) => {
                self.unstarted.push(*failure)
            }
        }
    }

    /// Forgets the failures of a state that is left: the events about its invokes are void, its timers are no longer
    /// awaited, and a stall that it caused is over. The only other way to end a stall is a retry: an event that moves
    /// only another region, or nothing, must not hide it.
    pub(super) fn forget_failures_of(&mut self, node: NodeId) {
        self.end_stall(|failure| failure.node() == node);
        if self.unstarted.is_empty() && self.queue.is_empty() {
            return;
        }
        self.unstarted.retain(|failure| failure.node() != node);
        self.queue.retain_mut(|raised| {
            let Some(failure) = raised.failure.take_if(|failure| failure.node() == node) else { return true };
            matches!(failure.work, FailedWork::Timer { .. })
        });
    }

    /// Stalls the instance at the end of a macrostep if something could not start and was not handled.
    pub(super) fn stall_unstarted(&mut self) {
        if self.unstarted.is_empty() || self.is_over() {
            return;
        }
        for failure in std::mem::take(&mut self.unstarted) {
            self.stall(failure);
        }
    }

    /// Removes the failures that are over. The instance is active again when none is left.
    pub(super) fn end_stall(&mut self, is_over: impl Fn(&UnhandledFailure) -> bool) {
        if !self.snapshot.failures().iter().any(&is_over) {
            return;
        }
        let failures = &mut self.more_mut().failures;
        failures.retain(|failure| !is_over(failure));
        if failures.is_empty() {
            self.snapshot.status = Status::Active;
        }
    }

    pub(super) fn stall(&mut self, failure: UnhandledFailure) {
        let id: Arc<str> = match &failure.work {
            FailedWork::Invocation(invocation) => Arc::clone(&self.tables().invoke(invocation.invoke).id),
            FailedWork::FanOut(fan_out) => Arc::clone(&self.tables().invoke(fan_out.invoke).id),
            FailedWork::Timer { node, .. } => format!("after.{}", self.chart.node(*node).path).into(),
        };
        self.trace(|| TraceEntry::Stalled { id: Arc::clone(&id) });
        self.snapshot.status = Status::Error;
        let error = failure.error.clone();
        self.more_mut().failures.push(failure);
        self.effects.push(Effect::Stall { id, error });
    }
}
