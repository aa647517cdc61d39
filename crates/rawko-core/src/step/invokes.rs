//! Invocations: starting them at the end of a macrostep, stopping them when their state is left, and handling their
//! results, failures, timeouts and retries.

use std::sync::Arc;

use super::StepError;
use super::items::item_name;
use super::run::Macrostep;
use super::trace::{Retrying, TraceEntry};
use crate::blueprint::{Backoff, InvokeSpec, Retry};
use crate::effect::{Effect, Invoke};
use crate::event::NamedEvent;
use crate::ids::{InvokeId, NodeId};
use crate::service::ServiceName;
use crate::snapshot::{FailedWork, Invocation, TimerPurpose, UnhandledFailure};
use crate::value::{Map, Value};

impl Macrostep<'_> {
    pub(super) fn start_invokes(&mut self) {
        let mut nodes = std::mem::take(&mut self.to_invoke);
        nodes.sort_unstable();
        for node in nodes {
            for index in self.tables().node(node).invokes.usize() {
                self.start_invoke(node, InvokeId(index as u32));
            }
        }
    }

    pub(super) fn start_invoke(&mut self, node: NodeId, invoke: InvokeId) {
        if let Some(each) = &self.tables().invoke(invoke).each {
            return self.start_each(node, invoke, each);
        }
        match self.prepare(node, invoke) {
            Ok(invocation) => self.attempt(invocation),
            Err(reason) => {
                let unstarted = self.unstarted_invocation(node, invoke);
                self.invoke_not_started(unstarted, reason);
            }
        }
    }

    fn prepare(&mut self, node: NodeId, invoke: InvokeId) -> Result<Invocation, String> {
        let spec = self.tables().invoke(invoke);
        let src = self.render_text(&spec.src).map_err(|error| format!("`src`: {}", error.message))?;
        let input = self.render(&spec.input).map_err(|error| format!("`input`: {}", error.message))?;
        let input = isolated(spec, &src, input);
        Ok(Invocation { id: self.next_id(), invoke, node, attempt: 1, src, input, item: None })
    }

    /// Sends an attempt to the host and starts its timeout.
    fn attempt(&mut self, invocation: Invocation) {
        let spec = self.tables().invoke(invocation.invoke);
        let timeout_ms = match spec.timeout.as_ref().map(|timeout| self.delay_ms(timeout)).transpose() {
            Ok(timeout_ms) => timeout_ms,
            Err(error) => {
                return self.invoke_not_started(invocation, format!("`timeout`: {}", error.message));
            }
        };
        self.effects.push(Effect::Invoke(Invoke {
            invocation: invocation.id,
            id: Arc::clone(&spec.id),
            src: Arc::clone(&invocation.src),
            input: invocation.input.clone(),
            attempt: invocation.attempt,
            policy: self.chart.node(invocation.node).policy.clone(),
        }));
        let id = invocation.id;
        self.more_mut().invocations.push(invocation);
        if let Some(ms) = timeout_ms {
            self.set_timer(ms, TimerPurpose::InvokeTimeout { invocation: id });
        }
    }

    pub(super) fn stop_invocations_of(&mut self, node: NodeId) {
        if !self.snapshot.invocations().iter().any(|invocation| invocation.node == node) {
            return;
        }
        let mut stopped = Vec::new();
        self.more_mut().invocations.retain(|invocation| {
            let keep = invocation.node != node;
            if !keep {
                stopped.push(invocation.clone());
            }
            keep
        });
        for invocation in stopped {
            self.stop_invocation(&invocation);
        }
    }

    /// Sends a stop to the host; an invocation that waits for its next attempt is not running anywhere.
    pub(super) fn stop_invocation(&mut self, invocation: &Invocation) {
        let waits = self.snapshot.timers().iter().any(|timer| {
            matches!(timer.purpose, TimerPurpose::InvokeRetry { invocation: of } if of == invocation.id)
        });
        self.cancel_invocation_timers(invocation.id);
        if !waits {
            let id = Arc::clone(&self.tables().invoke(invocation.invoke).id);
            self.effects.push(Effect::StopInvoke { invocation: invocation.id, id });
        }
    }

    pub(super) fn cancel_invocation_timers(&mut self, invocation: u64) {
        self.cancel_timers(|purpose| {
            matches!(purpose,
                TimerPurpose::InvokeTimeout { invocation: of } | TimerPurpose::InvokeRetry { invocation: of }
                if *of == invocation)
        });
    }

    pub(super) fn invocation_by_name(&self, id: &str) -> Option<u64> {
        let invocations = self.snapshot.invocations();
        let plain = invocations.iter().find(|known| &*self.tables().invoke(known.invoke).id == id);
        plain.map(|known| known.id).or_else(|| self.item_by_name(id))
    }

    /// Ends the stall of an invoke whose result a person supplied.
    pub(super) fn end_stall_of_invoke(&mut self, id: &str) {
        let tables = self.tables();
        self.end_stall(|failure| match &failure.work {
            FailedWork::Invocation(failed) => &*tables.invoke(failed.invoke).id == id,
            FailedWork::FanOut(failed) => &*tables.invoke(failed.invoke).id == id,
            FailedWork::Timer { .. } => false,
        });
    }

    /// Removes a running invocation from the snapshot. `None` if it belongs to an earlier visit.
    fn take_invocation(&mut self, id: u64) -> Option<Invocation> {
        let Some(at) = self.snapshot.invocations().iter().position(|known| known.id == id) else {
            self.trace(|| TraceEntry::Stale);
            return None;
        };
        self.cancel_invocation_timers(id);
        Some(self.more_mut().invocations.remove(at))
    }

    pub(super) fn handle_invoke_done(&mut self, id: u64, data: Value) -> Result<(), StepError> {
        if let Some((fan_out, index)) = self.item_of(id) {
            return self.handle_item_done(fan_out, index, data);
        }
        let Some(invocation) = self.take_invocation(id) else { return Ok(()) };
        let event = self.result_event("done.invoke", &invocation, data);
        let name = Arc::clone(&event.name);
        if !self.deliver(event)? {
            self.trace(|| TraceEntry::Unhandled { event: name, deferred: false });
        }
        Ok(())
    }

    pub(super) fn handle_invoke_failed(&mut self, id: u64, error: Value) -> Result<(), StepError> {
        if let Some((fan_out, index)) = self.item_of(id) {
            return self.handle_item_failed(fan_out, index, error);
        }
        let Some(invocation) = self.take_invocation(id) else { return Ok(()) };
        if error.get("retryable") == &Value::Bool(false) {
            return self.give_up(invocation, "error.invoke", error);
        }
        self.retry_or_give_up(invocation, "error.invoke", error)
    }

    pub(super) fn fire_invoke_timeout(&mut self, id: u64) -> Result<(), StepError> {
        if let Some((fan_out, index)) = self.item_of(id) {
            let invoke = self.snapshot.fan_outs().iter().find(|known| known.id == fan_out);
            let invoke = invoke.map_or("", |known| &*self.tables().invoke(known.invoke).id);
            let name = item_name(invoke, index);
            let error = timed_out(&name);
            self.effects.push(Effect::StopInvoke { invocation: id, id: name });
            return self.handle_item_failed(fan_out, index, error);
        }
        let Some(invocation) = self.take_invocation(id) else { return Ok(()) };
        let spec = self.tables().invoke(invocation.invoke);
        self.effects.push(Effect::StopInvoke { invocation: id, id: Arc::clone(&spec.id) });
        let error = timed_out(&spec.id);
        let kind = if spec.on_timeout { "timeout.invoke" } else { "error.invoke" };
        self.retry_or_give_up(invocation, kind, error)
    }

    fn retry_or_give_up(
        &mut self,
        invocation: Invocation,
        kind: &str,
        error: Value,
    ) -> Result<(), StepError> {
        let spec = self.tables().invoke(invocation.invoke);
        match &spec.retry {
            Some(retry) if invocation.attempt < retry.max_attempts => {
                let delay_ms = backoff_ms(retry, invocation.attempt);
                self.trace_retry(Arc::clone(&spec.id), retry, invocation.attempt);
                let id = invocation.id;
                self.more_mut()
                    .invocations
                    .push(Invocation { attempt: invocation.attempt + 1, ..invocation });
                self.set_timer(delay_ms, TimerPurpose::InvokeRetry { invocation: id });
                Ok(())
            }
            Some(_) | None => self.give_up(invocation, kind, error),
        }
    }

    pub(super) fn trace_retry(&mut self, id: Arc<str>, retry: &Retry, attempt: u32) {
        let delay_ms = backoff_ms(retry, attempt);
        self.trace(|| TraceEntry::Retrying(Box::new(Retrying { id, attempt, delay_ms })));
    }

    /// Raises the failure in the chart; if nothing handles it, the instance stalls.
    fn give_up(&mut self, invocation: Invocation, kind: &str, error: Value) -> Result<(), StepError> {
        let event = self.result_event(kind, &invocation, error.clone());
        if self.deliver(event)? || self.is_over() {
            return Ok(());
        }
        self.stall(UnhandledFailure { work: FailedWork::Invocation(invocation), error });
        Ok(())
    }

    pub(super) fn fire_invoke_retry(&mut self, id: u64) -> Result<(), StepError> {
        if let Some((fan_out, index)) = self.item_of(id) {
            return self.retry_item(fan_out, index);
        }
        if let Some(invocation) = self.take_invocation(id) {
            self.attempt(invocation);
        }
        self.settle()
    }

    /// Starts a fresh invocation with the same input: results of the old one are stale. If it could not start, it is
    /// evaluated again.
    pub(super) fn handle_retry_requested(&mut self) -> Result<(), StepError> {
        let failures = self.snapshot.failures().to_vec();
        if failures.is_empty() {
            self.trace(|| TraceEntry::Stale);
            return Ok(());
        }
        self.end_stall(|_| true);
        for failure in failures {
            self.retry(failure);
        }
        self.settle()
    }

    fn retry(&mut self, failure: UnhandledFailure) {
        match failure.work {
            FailedWork::Invocation(Invocation { node, invoke, attempt: 0, .. }) => {
                self.start_invoke(node, invoke);
            }
            FailedWork::Invocation(invocation) => {
                let id = self.next_id();
                self.attempt(Invocation { id, attempt: 1, ..invocation });
            }
            FailedWork::FanOut(fan_out) => self.retry_fan_out(*fan_out),
            FailedWork::Timer { node, index } => self.start_timer(node, index),
        }
    }

    pub(super) fn result_event(&self, kind: &str, invocation: &Invocation, data: Value) -> NamedEvent {
        let id = &self.tables().invoke(invocation.invoke).id;
        NamedEvent {
            name: format!("{kind}.{id}").into(),
            data,
            origin: Value::Str(Arc::clone(id)),
            send_id: None,
            invoke_id: Some(Arc::clone(id)),
            item: None,
        }
    }
}

fn timed_out(name: &str) -> Value {
    Value::map([
        ("category", Value::str("timeout")),
        ("message", Value::from(format!("`{name}` took longer than its timeout"))),
    ])
}

pub(super) fn backoff_ms(retry: &Retry, attempt: u32) -> u64 {
    let delay = match retry.backoff {
        Backoff::Fixed => retry.initial_delay_ms,
        Backoff::Linear => retry.initial_delay_ms.saturating_mul(u64::from(attempt)),
        Backoff::Exponential => {
            retry.initial_delay_ms.saturating_mul(1u64.checked_shl(attempt - 1).unwrap_or(u64::MAX))
        }
    };
    delay.min(retry.max_delay_ms)
}

/// Adds `isolation` to the input of an agent. Any input but a map is its prompt.
pub(super) fn isolated(spec: &InvokeSpec, src: &str, input: Value) -> Value {
    if !spec.isolated || !ServiceName::is_agent(src) {
        return input;
    }
    let mut map = match input {
        Value::Map(map) => Arc::unwrap_or_clone(map),
        Value::Null => Map::default(),
        prompt => Map::from_iter([("prompt".into(), prompt)]),
    };
    map.insert("isolation".into(), Value::str("worktree"));
    Value::Map(Arc::new(map))
}
