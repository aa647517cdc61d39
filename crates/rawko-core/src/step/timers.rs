//! Timers: `after`, delayed sends, timeouts and retries all wait in one list of the snapshot. A timer that is no longer
//! in the list does nothing when it fires.

use std::sync::Arc;

use super::StepError;
use super::run::Macrostep;
use super::trace::TraceEntry;
use crate::blueprint::Delay;
use crate::duration;
use crate::effect::Effect;
use crate::event::NamedEvent;
use crate::expr::{self, EvalError};
use crate::ids::NodeId;
use crate::snapshot::{PendingTimer, TimerPurpose};
use crate::value::Value;

impl Macrostep<'_> {
    pub(super) fn start_timers_of(&mut self, node: NodeId) {
        let tables = self.tables();
        for index in 0..tables.node(node).more().timers.len() {
            self.start_timer(node, index as u32);
        }
    }

    pub(super) fn start_timer(&mut self, node: NodeId, index: u32) {
        match self.delay_ms(&self.tables().node(node).more().timers[index as usize].delay) {
            Ok(ms) => {
                self.set_timer(ms, TimerPurpose::After { node, index });
            }
            Err(error) => self.timer_not_started(node, index, error.message),
        }
    }

    pub(super) fn delay_ms(&self, delay: &Delay) -> Result<u64, EvalError> {
        let value = match delay {
            Delay::Millis(ms) => return Ok(*ms),
            Delay::Expr(expr, _) => self.value_of(expr)?,
        };
        let wrong = |message: String| EvalError { message };
        match &value {
            Value::Int(ms) => {
                u64::try_from(*ms).map_err(|_| wrong(format!("a delay must not be negative, found {ms}")))
            }
            Value::Float(ms) if *ms >= 0.0 => Ok(ms.round() as u64),
            unknown if expr::is_unknown(unknown) => Ok(1),
            Value::Str(text) => duration::parse_ms(text).map_err(|error| wrong(error.to_string())),
            Value::Float(_) | Value::Null | Value::Bool(_) | Value::List(_) | Value::Map(_) => Err(wrong(
                format!("a delay is milliseconds or a duration, not {} `{value}`", value.type_name()),
            )),
        }
    }

    pub(super) fn set_timer(&mut self, delay_ms: u64, purpose: TimerPurpose) -> u64 {
        let id = self.next_id();
        let due_ms = self.now.ms.saturating_add(i64::try_from(delay_ms).unwrap_or(i64::MAX));
        self.more_mut().timers.push(PendingTimer { id, due_ms, purpose });
        self.effects.push(Effect::SetTimer { timer: id, due_ms });
        id
    }

    pub(super) fn cancel_timers_of(&mut self, node: NodeId) {
        self.cancel_timers(|purpose| matches!(purpose, TimerPurpose::After { node: of, .. } if *of == node));
    }

    pub(super) fn cancel_timers(&mut self, which: impl Fn(&TimerPurpose) -> bool) {
        if !self.snapshot.timers().iter().any(|timer| which(&timer.purpose)) {
            return;
        }
        let mut cancelled = Vec::new();
        self.more_mut().timers.retain(|timer| {
            let keep = !which(&timer.purpose);
            if !keep {
                cancelled.push(timer.id);
            }
            keep
        });
        self.effects.extend(cancelled.into_iter().map(|timer| Effect::CancelTimer { timer }));
    }

    pub(super) fn handle_timer_fired(&mut self, timer: u64) -> Result<(), StepError> {
        let Some(at) = self.snapshot.timers().iter().position(|pending| pending.id == timer) else {
            self.trace(|| TraceEntry::Stale);
            return Ok(());
        };
        let fired = self.more_mut().timers.remove(at);
        match fired.purpose {
            TimerPurpose::After { node, index } => self.fire_after(node, index),
            TimerPurpose::Send { target, event } => self.fire_send(&target, event),
            TimerPurpose::InvokeTimeout { invocation } => self.fire_invoke_timeout(invocation),
            TimerPurpose::InvokeRetry { invocation } => self.fire_invoke_retry(invocation),
            TimerPurpose::EachContinue { fan_out } => self.fire_each_continue(fan_out),
        }
    }

    /// Considers only the transitions of this timer: no wildcard can consume a deadline.
    fn fire_after(&mut self, node: NodeId, index: u32) -> Result<(), StepError> {
        let tables = self.tables();
        let before = self.snapshot.configuration.clone();
        let name: Arc<str> = format!("after.{}", self.chart.node(node).path).into();
        self.trace(|| TraceEntry::Considered { event: Some(Arc::clone(&name)) });
        self.event = Some(NamedEvent::new(name, Value::Null));
        let selection = self.select_among(&tables.node(node).more().timers[index as usize].candidates);
        if !selection.is_empty() {
            self.microstep(selection)?;
        }
        self.settle()?;
        if self.snapshot.configuration != before {
            self.offer_deferred()?;
        }
        Ok(())
    }

    fn fire_send(&mut self, target: &str, event: NamedEvent) -> Result<(), StepError> {
        self.push_send(target, event);
        Ok(())
    }
}
