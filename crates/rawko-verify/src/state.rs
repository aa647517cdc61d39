//! `State`: an instance at rest during the exploration, and its identity. Times count from now, ids by their order, and
//! context keys that influence nothing are left out, so that equivalent states are equal.

use rawko_core::{InvokeId, ItemState, Slot, Snapshot, TimerPurpose, Value};

use crate::analysis::Analysis;
use crate::mode::Mode;

/// One instance at rest.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) snapshot: Snapshot,
    pub(crate) now_ms: i64,
    /// When pending questions expire, by invocation. The instance machine keeps them, not the step.
    pub(crate) expiries: Vec<(u64, i64)>,
    /// One value per monitor: see `monitors`.
    pub(crate) monitors: Vec<i64>,
}

impl State {
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
    pub(crate) fn key(&self, analysis: &Analysis, relative: &[bool], mode: Mode) -> Box<[u8]> {
        let mut key = Vec::with_capacity(64);
        let snapshot = &self.snapshot;
        key.push(snapshot.status() as u8);
        let frontier = snapshot.configuration().frontier();
        push(&mut key, frontier.len() as i64);
        frontier.iter().for_each(|node| push(&mut key, i64::from(node.0)));
        let is_left_out = |slot: &Slot| mode == Mode::Decided && analysis.inexact.contains(slot);
        for slot in analysis.relevant.iter().filter(|slot| !is_left_out(slot)) {
            let value = snapshot.context().get(slot.index()).unwrap_or(&Value::NULL);
            match (value, analysis.saturated.get(slot)) {
                (Value::Int(number), Some(bound)) if number > bound => {
                    push_value(&mut key, &Value::Int(bound + 1))
                }
                (value, _) => push_value(&mut key, value),
            }
        }
        for (node, states) in snapshot.history() {
            push(&mut key, i64::from(node.0));
            push(&mut key, states.len() as i64);
            states.iter().for_each(|state| push(&mut key, i64::from(state.0)));
        }
        self.push_pending(&mut key, mode);
        self.push_fan_outs(&mut key);
        for (value, relative) in self.monitors.iter().zip(relative) {
            let is_time = *relative && *value < crate::watch::SERVED;
            let time = if mode.is_general() { 1 } else { value - self.now_ms };
            push(&mut key, if is_time { time } else { *value });
        }
        key.into()
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
        key.push(b't');
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
                    key.extend(target.as_bytes());
                    key.extend(event.name.as_bytes());
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
        key.push(b'v');
        for invocation in snapshot.invocations() {
            push(key, i64::from(invocation.invoke.0));
            push(key, i64::from(invocation.attempt));
            key.extend(invocation.src.as_bytes());
            if invocation.src.starts_with("statechart:") {
                push_value(key, &invocation.input);
            }
        }
        key.push(b'x');
        for (invocation, due_ms) in &self.expiries {
            push(key, invoke_of(*invocation));
            push(key, if mode.is_general() { 0 } else { due_ms - self.now_ms });
        }
        key.push(b'd');
        for event in snapshot.deferred() {
            key.extend(event.name.as_bytes());
            push_value(key, &event.data);
        }
        key.push(b'f');
        for failure in snapshot.failures() {
            push(key, failure.invocation().map_or(-1, |invocation| i64::from(invocation.invoke.0)));
        }
    }

    /// The items of an `each`: which of them run, and the results of those that ended.
    fn push_fan_outs(&self, key: &mut Vec<u8>) {
        for fan_out in self.snapshot.fan_outs() {
            key.push(b'm');
            push(key, i64::from(fan_out.invoke.0));
            for (item, state) in fan_out.items() {
                push_value(key, item);
                key.push(state.as_str().as_bytes()[0]);
                match state {
                    ItemState::Running(attempt) => {
                        push(key, i64::from(attempt.attempt));
                        key.extend(attempt.src.as_bytes());
                        if attempt.src.starts_with("statechart:") {
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

fn push_value(key: &mut Vec<u8>, value: &Value) {
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
            push(key, text.len() as i64);
            key.extend(text.as_bytes());
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
                key.extend(name.as_bytes());
                push_value(key, value);
            }
        }
    }
}
