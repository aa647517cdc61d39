//! One item of an `each`: starting its attempts, handling its result, its failures, timeouts and retries.

use std::sync::Arc;

use super::StepError;
use super::run::{InternalEvent, Macrostep};
use super::trace::TraceEntry;
use crate::blueprint::InvokeSpec;
use crate::effect::{Effect, Invoke};
use crate::event::{EventItem, NamedEvent};
use crate::snapshot::{ItemAttempt, ItemState, TimerPurpose};
use crate::value::Value;

impl Macrostep<'_> {
    /// Returns the running item of an invocation: the fan-out and the index.
    pub(super) fn item_of(&self, invocation: u64) -> Option<(u64, u32)> {
        let mut all = self.snapshot.fan_outs().iter();
        let (fan_out, index) = all.find_map(|known| Some((known, known.index_of(invocation)?)))?;
        matches!(fan_out.state(index), ItemState::Running(_)).then_some((fan_out.id, index))
    }

    pub(super) fn start_item(&mut self, id: u64, index: u32) -> Result<(), String> {
        let Some(fan_out) = self.fan_out(id) else { return Ok(()) };
        let (invoke, item) = (fan_out.invoke, fan_out.item(index));
        let spec = self.tables().invoke(invoke);
        self.bind(item, index);
        let parts = self.item_parts(spec);
        self.locals.clear();
        let (src, input, timeout_ms) = parts?;
        self.send_item(id, index, ItemAttempt { attempt: 1, src, input }, timeout_ms);
        Ok(())
    }

    fn item_parts(&self, spec: &InvokeSpec) -> Result<(Arc<str>, Value, Option<u64>), String> {
        let src = self.render_text(&spec.src).map_err(|error| format!("`src`: {}", error.message))?;
        let input = self.render(&spec.input).map_err(|error| format!("`input`: {}", error.message))?;
        let input = super::invokes::isolated(spec, &src, input);
        Ok((src, input, self.item_timeout(spec)?))
    }

    fn item_timeout(&self, spec: &InvokeSpec) -> Result<Option<u64>, String> {
        let timeout = spec.timeout.as_ref().map(|timeout| self.delay_ms(timeout)).transpose();
        timeout.map_err(|error| format!("`timeout`: {}", error.message))
    }

    /// Sends an attempt of an item to the host and starts its timeout.
    fn send_item(&mut self, id: u64, index: u32, attempt: ItemAttempt, timeout_ms: Option<u64>) {
        let Some(fan_out) = self.fan_out(id) else { return };
        let spec = self.tables().invoke(fan_out.invoke);
        let invocation = fan_out.first + u64::from(index);
        let policy = self.chart.node(fan_out.node).policy.clone();
        self.effects.push(Effect::Invoke(Invoke {
            invocation,
            id: item_name(&spec.id, index),
            src: Arc::clone(&attempt.src),
            input: attempt.input.clone(),
            attempt: attempt.attempt,
            policy,
        }));
        self.set_item(id, index, ItemState::Running(Box::new(attempt)));
        if let Some(ms) = timeout_ms {
            self.set_timer(ms, TimerPurpose::InvokeTimeout { invocation });
        }
    }

    /// An item whose expressions fail has failed without an attempt. Returns true if a handler is due.
    #[cold]
    pub(super) fn item_not_started(&mut self, id: u64, index: u32, reason: String) -> bool {
        let Some(fan_out) = self.fan_out(id) else { return false };
        let (node, invoke) = (fan_out.node, fan_out.invoke);
        self.record_each_fault(node, invoke, Some(index), &reason);
        let name = item_name(&self.tables().invoke(invoke).id, index);
        let message = format!("invoke `{name}`: {reason}");
        self.trace(|| TraceEntry::Failed { message: message.clone() });
        let error = Value::map([
            ("category", Value::str("execution")),
            ("message", Value::from(message)),
            ("retryable", Value::Bool(false)),
        ]);
        self.set_item(id, index, ItemState::Failed(error.clone()));
        let event = self.item_event(id, index, "error.invoke", error);
        let event = event.filter(|_| !self.tables().item_handlers(invoke, true).is_empty());
        let is_handled = event.is_some();
        self.queue.extend(event.map(|event| InternalEvent { event, failure: None, fan_out: Some(id) }));
        is_handled
    }

    fn item_event(&self, id: u64, index: u32, kind: &str, data: Value) -> Option<NamedEvent> {
        let fan_out = self.fan_out(id)?;
        let name = item_name(&self.tables().invoke(fan_out.invoke).id, index);
        Some(NamedEvent {
            origin: Value::Str(Arc::clone(&name)),
            invoke_id: Some(Arc::clone(&name)),
            item: Some(Box::new(EventItem { index, value: fan_out.item(index) })),
            ..NamedEvent::new(format!("{kind}.{name}"), data)
        })
    }

    /// Runs the handler of an item that ended: only its own transitions are considered, and no wildcard.
    pub(super) fn handle_item(&mut self, id: u64, event: NamedEvent, failed: bool) -> Result<(), StepError> {
        let Some(invoke) = self.fan_out(id).map(|fan_out| fan_out.invoke) else { return Ok(()) };
        let candidates = self.tables().item_handlers(invoke, failed);
        if candidates.is_empty() {
            return Ok(());
        }
        if let Some(item) = &event.item {
            self.bind(item.value.clone(), item.index);
        }
        self.trace(|| TraceEntry::Considered { event: Some(Arc::clone(&event.name)) });
        self.event = Some(event);
        let selection = self.select_among(candidates);
        let result = if selection.is_empty() { Ok(()) } else { self.microstep(selection) };
        self.locals.clear();
        result
    }

    /// Ends one item and continues its fan-out.
    fn end_item(&mut self, id: u64, index: u32, state: ItemState) -> Result<(), StepError> {
        let before = self.before_deferred();
        let (kind, data, failed) = match &state {
            ItemState::Failed(error) => ("error.invoke", error.clone(), true),
            ItemState::Done(data) => ("done.invoke", data.clone(), false),
            ItemState::Waiting | ItemState::Running(_) | ItemState::Stopped => return Ok(()),
        };
        let event = self.item_event(id, index, kind, data);
        self.set_item(id, index, state);
        self.handled = true;
        if let Some(event) = event {
            self.handle_item(id, event, failed)?;
        }
        self.to_advance.push_back((id, Some(index)));
        self.settle()?;
        self.offer_deferred_since(before)
    }

    pub(super) fn handle_item_done(&mut self, id: u64, index: u32, data: Value) -> Result<(), StepError> {
        self.cancel_item_timers(id, index);
        self.end_item(id, index, ItemState::Done(data))
    }

    pub(super) fn handle_item_failed(&mut self, id: u64, index: u32, error: Value) -> Result<(), StepError> {
        self.cancel_item_timers(id, index);
        let Some(fan_out) = self.fan_out(id) else { return Ok(()) };
        let ItemState::Running(running) = fan_out.state(index) else { return Ok(()) };
        let mut running = running.clone();
        let invocation = fan_out.first + u64::from(index);
        let spec = self.tables().invoke(fan_out.invoke);
        match spec.retry.as_ref().filter(|retry| running.attempt < retry.max_attempts) {
            Some(retry) if error.get("retryable") != &Value::Bool(false) => {
                self.trace_retry(item_name(&spec.id, index), retry, running.attempt);
                let delay_ms = super::invokes::backoff_ms(retry, running.attempt);
                running.attempt += 1;
                self.set_item(id, index, ItemState::Running(running));
                self.set_timer(delay_ms, TimerPurpose::InvokeRetry { invocation });
                Ok(())
            }
            _ => self.end_item(id, index, ItemState::Failed(error)),
        }
    }

    /// The next attempt of an item has the same input; only its timeout is evaluated again.
    pub(super) fn retry_item(&mut self, id: u64, index: u32) -> Result<(), StepError> {
        let Some(fan_out) = self.fan_out(id) else { return Ok(()) };
        let ItemState::Running(running) = fan_out.state(index) else { return Ok(()) };
        let (running, item) = ((**running).clone(), fan_out.item(index));
        let spec = self.tables().invoke(fan_out.invoke);
        self.bind(item, index);
        let timeout = self.item_timeout(spec);
        self.locals.clear();
        match timeout {
            Ok(timeout_ms) => self.send_item(id, index, running, timeout_ms),
            Err(reason) => {
                self.item_not_started(id, index, reason);
                self.to_advance.push_back((id, Some(index)));
            }
        }
        self.settle()
    }

    pub(super) fn cancel_item_timers(&mut self, id: u64, index: u32) {
        if let Some(first) = self.fan_out(id).map(|fan_out| fan_out.first) {
            self.cancel_invocation_timers(first + u64::from(index));
        }
    }

    /// Returns the running invocation of an item by its name, `reviews[0]`.
    pub(super) fn item_by_name(&self, name: &str) -> Option<u64> {
        let (id, index) = split_item_name(name)?;
        let mut all = self.snapshot.fan_outs().iter();
        let fan_out = all.find(|known| &*self.tables().invoke(known.invoke).id == id)?;
        fan_out.invocation(index).map(|invocation| invocation.id)
    }
}

/// Returns the name of an item: `reviews[0]`.
pub(crate) fn item_name(id: &str, index: u32) -> Arc<str> {
    format!("{id}[{index}]").into()
}

/// Splits the name of an item of an `each`: `reviews[0]` is item 0 of `reviews`. `None` for other names.
pub fn split_item_name(name: &str) -> Option<(&str, u32)> {
    let (id, index) = name.strip_suffix(']')?.rsplit_once('[')?;
    // One name for each item: `+1` and `01` are numbers, too.
    let is_canonical = index == "0" || !index.starts_with(['0', '+']);
    Some((id, index.parse().ok().filter(|_| is_canonical)?))
}
