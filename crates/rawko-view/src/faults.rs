//! Faults in stored journals: failed expressions and failed steps. They are read from the records alone, without
//! replaying an instance, so the search is cheap.

use std::sync::Arc;

use rawko_core::{Effect, Event, Status};
use rawko_host::SnapshotReader;
use rawko_store::{InstanceKey, InstanceRow, Record, RecordKind};

use crate::error::ViewError;

/// Number of steps of one instance that [`recent`] searches.
pub const STEPS_SEARCHED: u64 = 200;
/// Limit on records of one instance: a step that fails repeatedly has many.
const RECORDS_MAX: usize = 2_000;
/// Number of records of the whole store that [`since`] searches.
const TAIL_RECORDS: u64 = 20_000;
const RECORDS_PER_READ: usize = 1_024;

/// One fault as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultLine {
    /// Step in which the fault occurred; for a failed step, the number that it would have had.
    pub step: u64,
    /// Time of the record, in milliseconds since 1970 UTC.
    pub at_ms: i64,
    /// Place and reason.
    pub text: String,
}

/// Faults of one instance since a given time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceFaults {
    /// Id of the instance.
    pub instance: Arc<str>,
    /// Number of faults found; at least 1.
    pub count: usize,
    /// The most recent fault.
    pub last: FaultLine,
}

/// Returns the faults among the last steps of an instance up to `at`, oldest first.
pub fn recent(
    reader: &SnapshotReader,
    row: &InstanceRow,
    at: Option<u64>,
) -> Result<Vec<FaultLine>, ViewError> {
    let last = at.unwrap_or(row.step).min(row.step);
    // A failed step has the number after the last successful one.
    let through = if last == row.step { last.saturating_add(1) } else { last };
    let steps = last.saturating_sub(STEPS_SEARCHED - 1)..=through;
    let mut found = Vec::new();
    for record in reader.store().steps(row.key, steps, RECORDS_MAX)? {
        found.extend(lines_of(reader, &record)?);
    }
    Ok(found)
}

/// Returns the reason that was given when the instance was cancelled.
pub fn cancellation(reader: &SnapshotReader, row: &InstanceRow) -> Result<Option<String>, ViewError> {
    if row.head.status != Status::Cancelled {
        return Ok(None);
    }
    for record in reader.store().steps(row.key, row.step..=row.step, RECORDS_MAX)? {
        if let Ok(Event::CancelRequested { reason }) = serde_json::from_str(&reader.unpack(&record.event)?) {
            return Ok(reason.as_str().map(str::to_owned));
        }
    }
    Ok(None)
}

/// Returns the instances with faults since a given time, latest first.
pub fn since(reader: &SnapshotReader, from_ms: i64) -> Result<Vec<InstanceFaults>, ViewError> {
    let store = reader.store();
    let mut after = store.last_seq()?.saturating_sub(TAIL_RECORDS);
    let mut found: Vec<(InstanceKey, InstanceFaults)> = Vec::new();
    loop {
        let records = store.tail(after, RECORDS_PER_READ)?;
        for record in records.iter().filter(|record| record.at_ms >= from_ms) {
            for line in lines_of(reader, record)? {
                add(reader, &mut found, record.instance, line)?;
            }
        }
        match records.last() {
            Some(last) if records.len() == RECORDS_PER_READ => after = last.seq,
            Some(_) | None => break,
        }
    }
    let mut found: Vec<InstanceFaults> = found.into_iter().map(|(_, faulty)| faulty).collect();
    found.sort_by_key(|faulty| std::cmp::Reverse(faulty.last.at_ms));
    Ok(found)
}

fn add(
    reader: &SnapshotReader,
    found: &mut Vec<(InstanceKey, InstanceFaults)>,
    key: InstanceKey,
    line: FaultLine,
) -> Result<(), ViewError> {
    if let Some((_, known)) = found.iter_mut().find(|(known, _)| *known == key) {
        known.count += 1;
        known.last = line;
        return Ok(());
    }
    if let Some(row) = reader.store().instance(key)? {
        found.push((key, InstanceFaults { instance: row.new.id, count: 1, last: line }));
    }
    Ok(())
}

fn lines_of(reader: &SnapshotReader, record: &Record) -> Result<Vec<FaultLine>, ViewError> {
    let line = |text: String| FaultLine { step: record.step, at_ms: record.at_ms, text };
    if record.kind == RecordKind::Failed {
        let reason = reader.unpack(&record.delta)?;
        let reason: String = serde_json::from_str(&reason).unwrap_or(reason);
        let event = reader.unpack(&record.event)?;
        return Ok(vec![line(format!("step failed on {}: {reason}", event_word(&event)))]);
    }
    // Few records contain faults, and parsing effects costs more than a text search.
    if !record.effects.contains("\"fault\"") {
        return Ok(Vec::new());
    }
    let effects = reader.unpack(&record.effects)?;
    let effects: Vec<Effect> = serde_json::from_str(&effects).unwrap_or_default();
    let faults = effects.into_iter().filter_map(|effect| match effect {
        Effect::Fault(fault) => Some(line(fault.to_string())),
        Effect::SetTimer { .. }
        | Effect::CancelTimer { .. }
        | Effect::Invoke(_)
        | Effect::StopInvoke { .. }
        | Effect::Send(_)
        | Effect::Emit { .. }
        | Effect::Call { .. }
        | Effect::Log { .. }
        | Effect::Complete { .. }
        | Effect::Cancelled { .. }
        | Effect::Stall { .. } => None,
    });
    Ok(faults.collect())
}

fn event_word(text: &str) -> String {
    match serde_json::from_str(text) {
        Ok(Event::Named(event)) => event.name.to_string(),
        Ok(Event::TimerFired { .. }) => "a timer".to_owned(),
        Ok(Event::InvokeDone { .. }) => "a result".to_owned(),
        Ok(Event::InvokeFailed { .. }) => "a failed call".to_owned(),
        Ok(Event::RetryRequested) => "retry".to_owned(),
        Ok(Event::ItemRetryRequested { item }) => format!("retry {item}"),
        Ok(Event::CancelRequested { .. }) => "cancel".to_owned(),
        Ok(Event::PauseRequested { .. }) => "pause".to_owned(),
        Ok(Event::ResumeRequested { .. }) => "resume".to_owned(),
        Err(_) => "an event".to_owned(),
    }
}
