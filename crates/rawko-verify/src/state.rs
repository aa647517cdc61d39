//! `ModelState`: an instance at rest during the exploration, and its identity. Times count from now, ids by their order, and
//! context keys that influence nothing are left out, so that equivalent states are equal.

use rawko_core::{
    FailedWork, InvokeId, ItemState, ServiceClass, ServiceName, Slot, Snapshot, TimerPurpose, Value,
};

use crate::analysis::DataAnalysis;
use crate::mode::Mode;

/// One instance at rest.
#[derive(Clone, Debug)]
pub(crate) struct ModelState {
    pub(crate) snapshot: Snapshot,
    pub(crate) now_ms: i64,
    /// When pending questions expire, by invocation. The instance machine keeps them, not the step.
    pub(crate) expiries: Vec<(u64, i64)>,
    /// One value per monitor: see `monitors`.
    pub(crate) monitors: Vec<i64>,
    /// Events to others that may be returned as undelivered, if the chart handles that.
    pub(crate) sent: u8,
}

impl ModelState {
    /// Returns true if the invocation waits for its next attempt, so that nothing answers it now.
    pub(crate) fn waits_for_retry(&self, invocation: u64) -> bool {
        let is_its = |purpose: &TimerPurpose| matches!(purpose, TimerPurpose::InvokeRetry { invocation: of } if *of == invocation);
        self.snapshot.timers().iter().any(|timer| is_its(&timer.purpose))
    }

    /// When the next timer fires or question expires.
    pub(crate) fn next_due_ms(&self) -> Option<i64> {
        let timer = self.snapshot.next_timer().map(|timer| timer.due_ms);
        let expiry = self.expiries.iter().map(|(_, due_ms)| *due_ms).min();
        timer.into_iter().chain(expiry).min()
    }

    /// Writes the identity of the state. If undecided guards are decided either way, what they read does not matter.
    pub(crate) fn key(&self, key: &mut Vec<u8>, analysis: &DataAnalysis, relative: &[bool], mode: Mode) {
        key.clear();
        let snapshot = &self.snapshot;
        key.push(snapshot.status() as u8 | self.sent << 4);
        let frontier = snapshot.configuration().frontier();
        push(key, frontier.len() as i64);
        frontier.iter().for_each(|node| push(key, i64::from(node.0)));
        let is_left_out = |slot: &Slot| mode == Mode::Decided && analysis.inexact.contains(slot);
        let fallible = &analysis.fallible.slots;
        let failing = fallible.iter().filter(|slot| !mode.is_general() && !analysis.relevant.contains(slot));
        for slot in analysis.relevant.iter().chain(failing).filter(|slot| !is_left_out(slot)) {
            let value = snapshot.context().get(slot.index()).unwrap_or(&Value::NULL);
            match (value, analysis.saturated.get(slot)) {
                (Value::Int(number), Some(bound)) if number > bound => {
                    push_value(key, &Value::Int(bound + 1))
                }
                (value, _) => push_value(key, value),
            }
        }
        push(key, snapshot.history().count() as i64);
        for (node, states) in snapshot.history() {
            push(key, i64::from(node.0));
            push(key, states.len() as i64);
            states.iter().for_each(|state| push(key, i64::from(state.0)));
        }
        self.push_pending(key, mode);
        self.push_fan_outs(key);
        for (value, relative) in self.monitors.iter().zip(relative) {
            let is_time = *relative && *value < crate::watch::SERVED;
            let time = if mode.is_general() { 1 } else { value - self.now_ms };
            push(key, if is_time { time } else { *value });
        }
    }

    fn push_pending(&self, key: &mut Vec<u8>, mode: Mode) {
        let snapshot = &self.snapshot;
        let invoke_of = |id: u64| {
            snapshot.invocation(id).map_or(i64::MAX, |invocation| {
                let InvokeId(number) = invocation.invoke;
                i64::from(number) | i64::from(invocation.item.map_or(0, |item| item + 1)) << 16
            })
        };
        let mut timers: Vec<_> = snapshot.timers().iter().collect();
        if !mode.is_general() {
            timers.sort_by_key(|timer| (timer.due_ms, timer.id));
        }
        push(key, timers.len() as i64);
        for timer in timers {
            push(key, if mode.is_general() { 0 } else { timer.due_ms - self.now_ms });
            match &timer.purpose {
                TimerPurpose::After { node, index } => {
                    key.push(b'a');
                    push(key, i64::from(node.0));
                    push(key, i64::from(*index));
                }
                TimerPurpose::Send { target, event } => {
                    key.push(b's');
                    push_text(key, target);
                    push_text(key, &event.name);
                    push_text(key, event.send_id.as_deref().unwrap_or_default());
                    push_value(key, &event.data);
                }
                TimerPurpose::InvokeTimeout { invocation } => {
                    key.push(b'i');
                    push(key, invoke_of(*invocation));
                }
                TimerPurpose::InvokeRetry { invocation } => {
                    key.push(b'r');
                    push(key, invoke_of(*invocation));
                }
                TimerPurpose::EachContinue { fan_out } => {
                    key.push(b'e');
                    let known = snapshot.fan_outs().iter().position(|known| known.id == *fan_out);
                    push(key, known.map_or(-1, |at| at as i64));
                }
            }
        }
        push(key, snapshot.invocations().len() as i64);
        for invocation in snapshot.invocations() {
            push(key, i64::from(invocation.invoke.0));
            push(key, i64::from(invocation.attempt));
            push_text(key, &invocation.src);
            match ServiceName::of(&invocation.src).class {
                ServiceClass::Chart => push_value(key, &invocation.input),
                // The form decides which answers are possible.
                ServiceClass::Human => {
                    push_value(key, &rawko_instance::form_schema(&invocation.input).unwrap_or_default());
                }
                _ => {}
            }
        }
        push(key, self.expiries.len() as i64);
        for (invocation, due_ms) in &self.expiries {
            push(key, invoke_of(*invocation));
            push(key, if mode.is_general() { 0 } else { due_ms - self.now_ms });
        }
        push(key, snapshot.deferred().len() as i64);
        for event in snapshot.deferred() {
            push_text(key, &event.name);
            push_value(key, &event.data);
        }
        push(key, snapshot.failures().len() as i64);
        for failure in snapshot.failures() {
            let (kind, number) = match &failure.work {
                FailedWork::Invocation(invocation) => (b'i', invocation.invoke.0),
                FailedWork::FanOut(fan_out) => (b'e', fan_out.invoke.0),
                FailedWork::Timer { node, index } => (b't', node.0 << 8 | index & 0xff),
            };
            key.push(kind);
            push(key, i64::from(number));
        }
    }

    /// The items of an `each`: which of them run, and the results of those that ended.
    fn push_fan_outs(&self, key: &mut Vec<u8>) {
        push(key, self.snapshot.fan_outs().len() as i64);
        for fan_out in self.snapshot.fan_outs() {
            push(key, i64::from(fan_out.invoke.0));
            push(key, fan_out.items().count() as i64);
            for (item, state) in fan_out.items() {
                push_value(key, item);
                key.push(state.as_str().as_bytes()[0]);
                match state {
                    ItemState::Running(attempt) => {
                        push(key, i64::from(attempt.attempt));
                        push_text(key, &attempt.src);
                        if has_steering_input(&attempt.src) {
                            push_value(key, &attempt.input);
                        }
                    }
                    ItemState::Done(value) | ItemState::Failed(value) => push_value(key, value),
                    ItemState::Waiting | ItemState::Stopped => {}
                }
            }
        }
    }
}

/// Returns the number of values in a list or map, itself included.
pub(crate) fn size_of(value: &Value) -> usize {
    match value {
        Value::List(items) => 1 + items.iter().map(size_of).sum::<usize>(),
        Value::Map(map) => 1 + map.values().map(size_of).sum::<usize>(),
        _ => 1,
    }
}

/// Small numbers, which most are, take one byte.
fn push(key: &mut Vec<u8>, number: i64) {
    match u8::try_from(number) {
        Ok(small) if small < 0xff => key.push(small),
        _ => {
            key.push(0xff);
            key.extend(number.to_le_bytes());
        }
    }
}

/// Writes the bytes that only this value has.
pub(crate) fn push_value(key: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => key.push(0),
        Value::Bool(truth) => key.push(1 + u8::from(*truth)),
        Value::Int(number) => {
            key.push(3);
            push(key, *number);
        }
        Value::Float(number) => {
            key.push(4);
            key.extend(number.to_bits().to_le_bytes());
        }
        Value::Str(text) => {
            key.push(5);
            push_text(key, text);
        }
        Value::List(items) => {
            key.push(6);
            push(key, items.len() as i64);
            items.iter().for_each(|item| push_value(key, item));
        }
        Value::Map(map) => {
            key.push(7);
            push(key, map.len() as i64);
            for (name, value) in map.iter() {
                push_text(key, name);
                push_value(key, value);
            }
        }
    }
}

fn push_text(key: &mut Vec<u8>, text: &str) {
    push(key, text.len() as i64);
    key.extend(text.as_bytes());
}

/// Returns true for a child whose input decides what it does, and for a question, whose form decides its answers.
fn has_steering_input(src: &str) -> bool {
    matches!(ServiceName::of(src).class, ServiceClass::Chart | ServiceClass::Human)
}
