//! Converts rows of the tables to records, and enums to their numbers and words.

use std::sync::Arc;

use rawko_core::Status;
use rusqlite::Row;
use rusqlite::types::Type;

use super::fault::is_conversion;
use super::seals;
use crate::chain::ChainLink;
use crate::store::InstanceTally;
use crate::{
    AuditLine, Blob, ChartRow, EffectKind, ForkOrigin, Head, Inbound, InstanceKey, InstanceRow,
    KeyedDelivery, NewInstance, OpenEffect, Outcome, ParentInvocation, Record, RecordKind, WaitReason,
};

pub(super) const CHART: &str = "hash, id, version, name, text, added_ms";
/// The columns of [`new_instance`].
pub(super) const IDENTITY: &str = "key, id, chart, chart_id, version, parent_id, parent_invocation, parent_invoke, \
                                   origin_id, origin_step, created_ms, status, wait, next_due_ms, fault, \
                                   policy, ledger, outcome, parent_generation, seal";
pub(super) const INSTANCE: &str = "key, id, chart, chart_id, version, parent_id, parent_invocation, parent_invoke, \
                                   origin_id, origin_step, created_ms, status, wait, next_due_ms, fault, \
                                   policy, ledger, outcome, parent_generation, seal, \
                                   journal_step, journal_chain, head_seal";
pub(super) const RECORD: &str = "j.seq, j.instance, j.step, j.at_ms, j.kind, j.event, j.delta, j.effects, \
                                 j.chain";
pub(super) const EFFECT: &str = "instance, step, \"index\", kind, invocation, name, body, opened_ms, due_ms, idempotency, result, parked, \
     in_doubt, seal";
pub(super) const INBOUND: &str = "seq, \"to\", event, seal";
pub(super) const AUDIT: &str = "at_ms, instance, effect, service, decision, reason, provenance";

const STATUSES: [Status; 4] = [Status::Active, Status::Done, Status::Error, Status::Cancelled];

/// SQLite's integers are signed; no count here exceeds their range.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn uint(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// [`kind_number`] of a failed step.
pub(super) const FAILED: i64 = 4;

pub(super) fn kind_number(kind: RecordKind) -> i64 {
    match kind {
        RecordKind::Started => 0,
        RecordKind::Forked => 1,
        RecordKind::Stepped => 2,
        RecordKind::Ignored => 3,
        RecordKind::Failed => FAILED,
        RecordKind::Migrated => 5,
    }
}

pub(super) fn kind(row: &Row<'_>, column: usize) -> rusqlite::Result<RecordKind> {
    let number: i64 = row.get(column)?;
    let known = RecordKind::ALL.into_iter().find(|kind| kind_number(*kind) == number);
    known.ok_or_else(|| unknown(column, Type::Integer, number))
}

/// Reads a link or hash; an empty blob means `None`.
pub(super) fn link(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<ChainLink>> {
    match row.get_ref(column)?.as_blob()? {
        [] => Ok(None),
        bytes => match ChainLink::try_from(bytes) {
            Ok(link) => Ok(Some(link)),
            Err(_) => Err(unknown(column, Type::Blob, format!("{} bytes", bytes.len()))),
        },
    }
}

fn unknown(column: usize, kind: Type, found: impl std::fmt::Display) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, kind, format!("unknown value `{found}`").into())
}

/// Returns the error for a row that does not match its hash.
fn modified(column: usize, what: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Blob, what.into())
}

/// Parses the word in a row as one of these values.
fn word<T>(row: &Row<'_>, column: usize, all: &[T], name: fn(T) -> &'static str) -> rusqlite::Result<T>
where
    T: Copy,
{
    let found: Arc<str> = row.get(column)?;
    let known = all.iter().copied().find(|value| name(*value) == &*found);
    known.ok_or_else(|| unknown(column, Type::Text, found))
}

pub(super) fn chart(row: &Row<'_>) -> rusqlite::Result<ChartRow> {
    Ok(ChartRow {
        hash: row.get(0)?,
        id: row.get(1)?,
        version: row.get(2)?,
        name: row.get(3)?,
        text: row.get(4)?,
        added_ms: row.get(5)?,
    })
}

/// Reads the columns of an instance that a step does not change, without checking them.
pub(super) fn new_instance(row: &Row<'_>) -> rusqlite::Result<NewInstance> {
    let parent = match row.get::<_, Option<Arc<str>>>(5)? {
        Some(id) => Some(ParentInvocation {
            id,
            invocation: uint(row.get(6)?),
            invoke: row.get(7)?,
            generation: row.get(18)?,
        }),
        None => None,
    };
    let origin = match row.get::<_, Option<Arc<str>>>(8)? {
        Some(id) => Some(ForkOrigin { id, step: uint(row.get(9)?) }),
        None => None,
    };
    Ok(NewInstance {
        id: row.get(1)?,
        chart: row.get(2)?,
        chart_id: row.get(3)?,
        version: row.get(4)?,
        parent,
        origin,
        created_ms: row.get(10)?,
        policy: row.get(15)?,
    })
}

/// Reads an instance without its step, which comes from the journal.
pub(super) fn instance(row: &Row<'_>) -> rusqlite::Result<InstanceRow> {
    let new = new_instance(row)?;
    if link(row, 19)? != Some(seals::instance(row.get(0)?, &new)) {
        return Err(modified(19, "id, chart, parent, origin, policy or creation time was modified"));
    }
    let head = head(row)?;
    let end = row.get_ref(21)?.as_blob()?;
    if link(row, 22)? != Some(seals::head(row.get(0)?, &head, row.get(20)?, end)) {
        return Err(modified(22, "status, wait, due time, fault, ledger, outcome or last step was modified"));
    }
    Ok(InstanceRow { key: InstanceKey(row.get(0)?), updated_ms: new.created_ms, new, head, step: 0 })
}

/// Reads what lists show of an instance, without checking it.
pub(super) fn head(row: &Row<'_>) -> rusqlite::Result<Head> {
    Ok(Head {
        status: word(row, 11, &STATUSES, Status::as_str)?,
        wait: word(row, 12, &WaitReason::ALL, WaitReason::as_str)?,
        next_due_ms: row.get(13)?,
        fault: row.get(14)?,
        ledger: row.get(16)?,
        outcome: match row.get_ref(17)? {
            rusqlite::types::ValueRef::Null => None,
            _ => Some(word(row, 17, &Outcome::ALL, Outcome::as_str)?),
        },
    })
}

/// Reads an instance for a list, where an unreadable row must not hide the others: it is shown as failed.
pub(super) fn listed(row: &Row<'_>) -> rusqlite::Result<InstanceRow> {
    let error = match instance(row) {
        Err(error) if is_conversion(&error) => error,
        other => return other,
    };
    let key = InstanceKey(row.get(0)?);
    let text = |column: usize| row.get::<_, Arc<str>>(column).unwrap_or_else(|_| "?".into());
    let new = NewInstance {
        id: row.get(1).unwrap_or_else(|_| format!("#{}", key.0).into()),
        chart: row.get(2).unwrap_or_default(),
        chart_id: text(3),
        version: text(4),
        parent: None,
        origin: None,
        created_ms: row.get(10).unwrap_or_default(),
        policy: Arc::default(),
    };
    let fault = format!("damaged row in the store: {error}");
    let head = Head { status: Status::Error, fault: Some(fault.into()), ..Head::default() };
    Ok(InstanceRow { key, updated_ms: new.created_ms, new, head, step: 0 })
}

pub(super) fn tally(row: &Row<'_>) -> rusqlite::Result<InstanceTally> {
    Ok(InstanceTally {
        status: word(row, 0, &STATUSES, Status::as_str)?,
        wait: word(row, 1, &WaitReason::ALL, WaitReason::as_str)?,
        is_faulty: row.get(2)?,
        is_root: row.get(3)?,
        count: uint(row.get(4)?),
    })
}

pub(super) fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    Ok(Record {
        seq: uint(row.get(0)?),
        instance: InstanceKey(row.get(1)?),
        step: uint(row.get(2)?),
        at_ms: row.get(3)?,
        kind: kind(row, 4)?,
        event: row.get(5)?,
        delta: row.get(6)?,
        effects: row.get(7)?,
    })
}

pub(super) fn effect(row: &Row<'_>) -> rusqlite::Result<OpenEffect> {
    let effect = effect_unchecked(row)?;
    match link(row, 13)? == Some(seals::effect(&effect)) {
        true => Ok(effect),
        false => Err(modified(13, "it was modified")),
    }
}

pub(super) fn effect_unchecked(row: &Row<'_>) -> rusqlite::Result<OpenEffect> {
    Ok(OpenEffect {
        instance: InstanceKey(row.get(0)?),
        step: uint(row.get(1)?),
        index: row.get(2)?,
        kind: word(row, 3, &EffectKind::ALL, EffectKind::as_str)?,
        invocation: row.get::<_, Option<i64>>(4)?.map(uint),
        name: row.get(5)?,
        body: row.get(6)?,
        opened_ms: row.get(7)?,
        due_ms: row.get(8)?,
        idempotency: row.get(9)?,
        result: row.get(10)?,
        parked: row.get(11)?,
        in_doubt: row.get(12)?,
    })
}

/// Reads a delivery of an instance: key, step, hash.
pub(super) fn delivery(row: &Row<'_>, instance: i64) -> rusqlite::Result<KeyedDelivery> {
    let delivery = KeyedDelivery { key: row.get(0)?, step: uint(row.get(1)?) };
    match link(row, 2)? == Some(seals::delivery(instance, &delivery.key, delivery.step)) {
        true => Ok(delivery),
        false => Err(modified(2, &format!("the delivery `{}` was modified", delivery.key))),
    }
}

pub(super) fn inbound(row: &Row<'_>) -> rusqlite::Result<Inbound> {
    let inbound = inbound_unchecked(row)?;
    match link(row, 3)? == Some(seals::inbound(&inbound)) {
        true => Ok(inbound),
        false => Err(modified(3, "it was modified")),
    }
}

pub(super) fn inbound_unchecked(row: &Row<'_>) -> rusqlite::Result<Inbound> {
    Ok(Inbound { seq: row.get(0)?, to: InstanceKey(row.get(1)?), event: row.get(2)? })
}

pub(super) fn blob(row: &Row<'_>) -> rusqlite::Result<Blob> {
    Ok(Blob { hash: row.get(0)?, body: row.get(1)? })
}

pub(super) fn audit(row: &Row<'_>) -> rusqlite::Result<AuditLine> {
    Ok(AuditLine {
        at_ms: row.get(0)?,
        instance: row.get(1)?,
        effect: row.get(2)?,
        service: row.get(3)?,
        decision: row.get(4)?,
        reason: row.get(5)?,
        provenance: row.get(6)?,
    })
}
