//! The changes of a step to a snapshot, as JSON. A journal of these grows with the changes, not with the size of an
//! instance; separate from the snapshot's own JSON because it is written at every step and has to be small.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::fan_out_json::{FanOutChanges, fan_out_changes};
use super::json::{
    SavedFailure, SavedHistory, SavedInvocation, SavedTimer, read_configuration, read_failure, read_history,
    read_invocation, read_timer, save_failure, save_history, save_invocation, save_timer, unknown,
};
use super::{Invocation, PendingTimer, RareParts, Snapshot, SnapshotError, Status};
use crate::chart::Chart;
use crate::event::NamedEvent;
use crate::value::{Map, Value};

/// Each part is present only if it changed.
#[derive(Default, Serialize, Deserialize)]
struct Delta<'a> {
    step: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(default, skip_serializing_if = "Option::is_none", borrow)]
    configuration: Option<Vec<Cow<'a, str>>>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    set: Map,
    /// Appended elements of lists that only grew: a conversation is written once, not at every turn.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    append: Map,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    more: Option<MoreDelta<'a>>,
}

#[derive(Default, Serialize, Deserialize)]
struct MoreDelta<'a> {
    next_id: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none", borrow)]
    history: Option<SavedHistory<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timers: Option<Vec<SavedTimer>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    invocations: Option<Vec<SavedInvocation>>,
    /// Changes of a long list of timers, instead of `timers`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timer_changes: Option<TimerChanges>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    each: Option<FanOutChanges>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deferred: Option<Vec<NamedEvent>>,
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "failure")]
    failures: Option<Vec<SavedFailure>>,
}

impl Delta<'_> {
    /// Passes the values that may be long: those of the context, the inputs of calls and the output.
    fn restore(&mut self, restore: &dyn Fn(&mut Value)) {
        let Self { set, append, more, .. } = self;
        set.values_mut().chain(append.values_mut()).for_each(restore);
        if let Some(MoreDelta { output, invocations, .. }) = more {
            output.iter_mut().for_each(restore);
            invocations.iter_mut().flatten().for_each(|saved| restore(&mut saved.input));
        }
    }
}

/// Timers are appended and removed, never changed.
#[derive(Default, Serialize, Deserialize)]
struct TimerChanges {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gone: Vec<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    set: Vec<SavedTimer>,
}

/// Longer lists of timers are written as changes: ten thousand items may have a timeout each.
const TIMERS_WHOLE_MAX: usize = 16;

impl Snapshot {
    /// Returns the changes since an earlier snapshot of the same instance, as compact JSON.
    pub fn delta_json(&self, before: &Snapshot, chart: &Chart) -> String {
        self.delta_json_with(before, chart, &|_| None)
    }

    /// [`Snapshot::delta_json`] with other values in place of some: for a caller that has their text already. Appended
    /// elements stay as they are.
    pub fn delta_json_with(
        &self,
        before: &Snapshot,
        chart: &Chart,
        stand_in: &dyn Fn(&Value) -> Option<Value>,
    ) -> String {
        let mut delta = Delta { step: self.step, ..Delta::default() };
        if self.status != before.status {
            delta.status = Some(self.status);
        }
        if self.configuration != before.configuration {
            delta.configuration = Some(chart.leaf_paths(&self.configuration).map(Cow::Borrowed).collect());
        }
        for (slot, value) in self.context.iter().enumerate() {
            let name = || chart.context_names[slot].clone();
            match change(&before.context[slot], value) {
                ValueChange::None => {}
                ValueChange::Set => {
                    drop(delta.set.insert(name(), stand_in(value).unwrap_or_else(|| value.clone())));
                }
                ValueChange::Append(items) => drop(delta.append.insert(name(), items)),
            }
        }
        delta.more = more_delta(before.more.as_deref(), self.more.as_deref(), chart, stand_in);
        // Serialising our own types to a String cannot fail.
        serde_json::to_string(&delta).unwrap_or_default()
    }

    /// Applies changes written by [`Snapshot::delta_json`]; the result is the later snapshot.
    pub fn apply_delta_json(&mut self, chart: &Chart, text: &str) -> Result<(), SnapshotError> {
        self.apply_delta_json_with(chart, text, &|_| {})
    }

    /// [`Snapshot::apply_delta_json`] of a text with marks in place of some values, which `restore` replaces.
    pub fn apply_delta_json_with(
        &mut self,
        chart: &Chart,
        text: &str,
        restore: &dyn Fn(&mut Value),
    ) -> Result<(), SnapshotError> {
        let mut delta: Delta<'_> =
            serde_json::from_str(text).map_err(|error| SnapshotError::Malformed(error.to_string()))?;
        delta.restore(restore);
        self.step = delta.step;
        self.status = delta.status.unwrap_or(self.status);
        if let Some(paths) = &delta.configuration {
            self.configuration = read_configuration(paths, chart)?;
        }
        for (name, value) in delta.set {
            let slot = self.slot(&name, chart)?;
            self.context[slot] = value;
        }
        for (name, items) in delta.append {
            let slot = self.slot(&name, chart)?;
            let (Value::List(list), Value::List(items)) = (&mut self.context[slot], items) else {
                return Err(SnapshotError::Malformed(format!("`{name}` cannot be appended to")));
            };
            std::sync::Arc::make_mut(list).extend(items.iter().cloned());
        }
        if let Some(more) = delta.more {
            apply_more(self.more.get_or_insert_default(), more, chart)?;
        }
        Ok(())
    }

    /// Returns the starting snapshot of a fork: the same instance at another time and with other values. Pending timers
    /// are shifted, so that a timer with an hour left still has an hour.
    pub fn forked(
        &self,
        chart: &Chart,
        edits: &[(String, Value)],
        shift_ms: i64,
    ) -> Result<Snapshot, SnapshotError> {
        let mut fork = self.clone();
        for (name, value) in edits {
            let slot = fork.slot(name, chart)?;
            fork.context[slot] = value.clone();
        }
        for timer in fork.more.iter_mut().flat_map(|more| &mut more.timers) {
            timer.due_ms = timer.due_ms.saturating_add(shift_ms);
        }
        Ok(fork)
    }

    fn slot(&self, name: &str, chart: &Chart) -> Result<usize, SnapshotError> {
        let found = chart.context_names.iter().position(|known| &**known == name);
        found.ok_or_else(|| unknown("context key", name, chart))
    }
}

enum ValueChange {
    None,
    Set,
    Append(Value),
}

fn change(before: &Value, after: &Value) -> ValueChange {
    if before.is_identical(after) {
        return ValueChange::None;
    }
    let (Value::List(old), Value::List(new)) = (before, after) else { return ValueChange::Set };
    let grew = new.len() > old.len() && !old.is_empty();
    if grew && old.iter().zip(new.iter()).all(|(old, new)| old.is_identical(new)) {
        return ValueChange::Append(Value::list(new[old.len()..].to_vec()));
    }
    ValueChange::Set
}

static NOTHING: RareParts = RareParts::NOTHING;

fn more_delta<'a>(
    before: Option<&RareParts>,
    after: Option<&RareParts>,
    chart: &'a Chart,
    stand_in: &dyn Fn(&Value) -> Option<Value>,
) -> Option<MoreDelta<'a>> {
    let (before, after) = (before.unwrap_or(&NOTHING), after?);
    let timers_changed = before.timers != after.timers;
    let is_short = before.timers.len().max(after.timers.len()) <= TIMERS_WHOLE_MAX;
    let delta = MoreDelta {
        next_id: after.next_id,
        output: (!before.output.is_identical(&after.output))
            .then(|| stand_in(&after.output).unwrap_or_else(|| after.output.clone())),
        history: (before.history != after.history).then(|| save_history(after, chart)),
        timers: (timers_changed && is_short)
            .then(|| after.timers.iter().map(|timer| save_timer(timer, chart)).collect()),
        timer_changes: (timers_changed && !is_short)
            .then(|| timer_changes(&before.timers, &after.timers, chart)),
        each: fan_out_changes(&before.fan_outs, &after.fan_outs, chart),
        invocations: (before.invocations != after.invocations).then(|| {
            after.invocations.iter().map(|known| saved(known, chart, stand_in(&known.input))).collect()
        }),
        deferred: (before.deferred != after.deferred).then(|| after.deferred.clone()),
        failures: (before.failures != after.failures)
            .then(|| after.failures.iter().map(|failure| save_failure(failure, chart)).collect()),
    };
    let unchanged = before.next_id == after.next_id
        && delta.output.is_none()
        && delta.history.is_none()
        && !timers_changed
        && delta.each.is_none()
        && delta.invocations.is_none()
        && delta.deferred.is_none()
        && delta.failures.is_none();
    (!unchanged).then_some(delta)
}

/// Returns an invocation for writing, with another input if one stands in for it.
fn saved(invocation: &Invocation, chart: &Chart, stand_in: Option<Value>) -> SavedInvocation {
    match stand_in {
        Some(input) => save_invocation(&Invocation { input, ..invocation.clone() }, chart),
        None => save_invocation(invocation, chart),
    }
}

fn apply_more(more: &mut RareParts, delta: MoreDelta<'_>, chart: &Chart) -> Result<(), SnapshotError> {
    more.next_id = delta.next_id;
    if let Some(output) = delta.output {
        more.output = output;
    }
    if let Some(history) = &delta.history {
        more.history = read_history(history, chart)?;
    }
    if let Some(timers) = delta.timers {
        more.timers = timers.into_iter().map(|timer| read_timer(timer, chart)).collect::<Result<_, _>>()?;
    }
    if let Some(TimerChanges { gone, set }) = delta.timer_changes {
        more.timers.retain(|timer| gone.binary_search(&timer.id).is_err());
        for timer in set {
            more.timers.push(read_timer(timer, chart)?);
        }
    }
    if let Some(changes) = delta.each {
        changes.apply(&mut more.fan_outs, chart)?;
    }
    if let Some(invocations) = delta.invocations {
        more.invocations =
            invocations.into_iter().map(|known| read_invocation(known, chart)).collect::<Result<_, _>>()?;
    }
    if let Some(deferred) = delta.deferred {
        more.deferred = deferred;
    }
    if let Some(failures) = delta.failures {
        more.failures =
            failures.into_iter().map(|failure| read_failure(failure, chart)).collect::<Result<_, _>>()?;
    }
    Ok(())
}

/// Both lists are in the order of their ids, which are never used twice.
fn timer_changes(before: &[PendingTimer], after: &[PendingTimer], chart: &Chart) -> TimerChanges {
    let newest = before.last().map_or(0, |timer| timer.id);
    let mut kept = after.iter().map(|timer| timer.id).peekable();
    let mut gone = Vec::new();
    for timer in before {
        if kept.next_if_eq(&timer.id).is_none() {
            gone.push(timer.id);
        }
    }
    let set = after.iter().filter(|timer| timer.id > newest);
    TimerChanges { gone, set: set.map(|timer| save_timer(timer, chart)).collect() }
}
