//! The spending of an instance up to a past step. The head of an instance has only current totals, so later spending is
//! found in the journal and subtracted; a fork continues with the rest of the budget instead of a new one.

use std::collections::{HashMap, VecDeque};

use rawko_core::{Effect, Event, ServiceName, Value};
use rawko_instance::{Ledger, Spent, agent_of, is_counted};
use rawko_store::{InstanceRow, Record, RecordKind};

use crate::error::HostError;
use crate::reader::SnapshotReader;

/// The service and children of an invocation, oldest child first.
#[derive(Default)]
struct PastInvocation {
    src: String,
    children: VecDeque<Spent>,
}

/// Returns the ledger after a step. Spending that cannot be dated counts as earlier, so a budget may come out smaller
/// but never larger. The budget of a state that was left since starts over.
pub(crate) fn ledger_at(reader: &SnapshotReader, row: &InstanceRow, step: u64) -> Result<Ledger, HostError> {
    let Ledger { total, scopes, .. } = Ledger::read(row.head.ledger.as_deref());
    if step >= row.step || total.is_nothing() {
        return Ok(Ledger { total, scopes, ..Ledger::default() });
    }
    let later = answers_after(reader, row, step)?.plus(calls_after(reader, row, step)?);
    Ok(Ledger { total: total.minus(later), scopes, ..Ledger::default() })
}

fn answers_after(reader: &SnapshotReader, row: &InstanceRow, step: u64) -> Result<Spent, HostError> {
    let mut known: HashMap<u64, PastInvocation> = HashMap::new();
    for child in reader.store().children(&row.new.id)? {
        if let Some(parent) = &child.new.parent {
            known.entry(parent.invocation).or_default().children.push_back(spent_by_child(&child));
        }
    }
    let mut later = Spent::default();
    for record in reader.store().records(row.key, 0, usize::MAX)? {
        let spent = read::<Event>(reader, &record.event)?.map(|event| spent_on(&event, &mut known));
        if record.step > step && is_taken(&record) {
            later = later.plus(spent.unwrap_or_default());
        }
        for effect in read::<Vec<Effect>>(reader, &record.effects)?.unwrap_or_default() {
            if let Effect::Invoke(invoke) = effect {
                known.entry(invoke.invocation).or_default().src = invoke.src.to_string();
            }
        }
    }
    Ok(later)
}

fn is_taken(record: &Record) -> bool {
    match record.kind {
        RecordKind::Stepped | RecordKind::Ignored => true,
        RecordKind::Started | RecordKind::Forked | RecordKind::Migrated | RecordKind::Failed => false,
    }
}

/// Counts the calls after a step. The audit has one line per counted call, with the step in its key.
fn calls_after(reader: &SnapshotReader, row: &InstanceRow, step: u64) -> Result<Spent, HostError> {
    let lines = reader.store().audit(Some(&row.new.id), usize::MAX)?;
    let is_later = |key: &str| {
        let step_of = key.rsplit('/').nth(1).and_then(|number| number.parse::<u64>().ok());
        step_of.is_some_and(|of| of > step)
    };
    let later = lines
        .iter()
        .filter(|line| &*line.decision == "allowed" && is_counted(&line.service) && is_later(&line.effect));
    Ok(Spent { tool_calls: later.count() as u64, ..Spent::default() })
}

/// Returns the spending that was recorded with a result.
fn spent_on(event: &Event, known: &mut HashMap<u64, PastInvocation>) -> Spent {
    let (invocation, data) = match event {
        Event::InvokeDone { invocation, data } => (invocation, data),
        Event::InvokeFailed { invocation, error } => (invocation, error),
        Event::Named(_)
        | Event::TimerFired { .. }
        | Event::RetryRequested
        | Event::ItemRetryRequested { .. }
        | Event::CancelRequested { .. }
        | Event::PauseRequested { .. }
        | Event::ResumeRequested { .. } => return Spent::default(),
    };
    let Some(invoked) = known.get_mut(invocation) else { return Spent::default() };
    if let Some(spent) = invoked.children.pop_front() {
        return spent;
    }
    if ServiceName::of(&invoked.src).class.reports_usage() {
        Spent::of(data.get("usage"))
    } else {
        Spent::default()
    }
}

fn spent_by_child(child: &InstanceRow) -> Spent {
    let ledger = Ledger::read(child.head.ledger.as_deref());
    let mut spent = ledger.total;
    let policy: Value = serde_json::from_str(&child.new.policy).unwrap_or_default();
    if agent_of(&policy).is_some() {
        let lived_ms = u64::try_from(child.updated_ms - child.new.created_ms).unwrap_or(0);
        spent.time_ms = lived_ms.saturating_sub(ledger.paused_ms);
    }
    spent
}

/// Returns `None` for records of another shape: the input of a start, the edits of a fork.
fn read<T: serde::de::DeserializeOwned>(reader: &SnapshotReader, text: &str) -> Result<Option<T>, HostError> {
    if text.is_empty() {
        return Ok(None);
    }
    Ok(serde_json::from_str(&reader.unpack(text)?).ok())
}
