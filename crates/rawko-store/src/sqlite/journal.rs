//! Reading the journal: of one instance by the index and then past it, of all instances in a row. Always within one
//! transaction, so that the mark and the records agree.

use std::ops::RangeInclusive;

use rusqlite::{Connection, OptionalExtension, Result, params};
use rustc_hash::FxHashMap;

use super::rows::{self, RECORD, int};
use crate::store::Base;
use crate::{InstanceKey, Record, RecordKind, SavedSnapshot};

/// Up to which record the index goes.
pub(super) fn indexed_through(connection: &Connection) -> Result<i64> {
    connection.prepare_cached("SELECT indexed_through FROM marks")?.query_row([], |row| row.get(0))
}

pub(super) fn last_seq(connection: &Connection) -> Result<i64> {
    connection.prepare_cached("SELECT coalesce(max(seq), 0) FROM journal")?.query_row([], |row| row.get(0))
}

pub(super) fn tail(connection: &Connection, after: u64, limit: usize) -> Result<Vec<Record>> {
    let sql = format!("SELECT {RECORD} FROM journal j WHERE seq > ?1 ORDER BY seq LIMIT ?2");
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_map([int(after), int(limit as u64)], rows::record)?.collect()
}

pub(super) fn records(
    connection: &Connection,
    key: InstanceKey,
    after: u64,
    limit: usize,
) -> Result<Vec<Record>> {
    let range = Range { after_seq: int(after), after_step: -1, through_step: i64::MAX };
    range.read(connection, key, limit)
}

pub(super) fn steps(
    connection: &Connection,
    key: InstanceKey,
    steps: &RangeInclusive<u64>,
    limit: usize,
) -> Result<Vec<Record>> {
    let after_step = int(*steps.start()).saturating_sub(1);
    // Of a step before the last one that is not wanted: that one is still to be put on top of it, so whatever comes after
    // that one lies after the snapshot's mark.
    let sql = "SELECT after_seq FROM snapshots WHERE instance = ?1 AND step < ?2 ORDER BY step DESC LIMIT 1";
    let after_seq: Option<i64> =
        connection.prepare_cached(sql)?.query_row([key.0, after_step], |row| row.get(0)).optional()?;
    let through_step = int(*steps.end());
    Range { after_seq: after_seq.unwrap_or(0), after_step, through_step }.read(connection, key, limit)
}

pub(super) fn base(connection: &Connection, key: InstanceKey, at: Option<u64>) -> Result<Option<Base>> {
    let through_step = at.map_or(i64::MAX, int);
    let Some(saved) = Saved::before(connection, key, through_step)? else { return Ok(None) };
    let range = Range { after_seq: saved.after_seq, after_step: saved.step, through_step };
    let records = range.read(connection, key, usize::MAX)?;
    Ok(Some(saved.with(records)))
}

/// Those of many instances after their last steps. What is not indexed yet is read once for all of them.
pub(super) fn bases(connection: &Connection, keys: &[InstanceKey]) -> Result<Vec<Option<Base>>> {
    let mark = indexed_through(connection)?;
    let mut unindexed = unindexed_of(connection, keys, mark)?;
    let mut bases = Vec::with_capacity(keys.len());
    for key in keys {
        let Some(saved) = Saved::before(connection, *key, i64::MAX)? else {
            bases.push(None);
            continue;
        };
        let range = Range { after_seq: saved.after_seq, after_step: saved.step, through_step: i64::MAX };
        let (mut records, _) = range.read_indexed(connection, *key, mark, usize::MAX)?;
        let later = unindexed.remove(&key.0).unwrap_or_default();
        records.extend(later.into_iter().filter(|record| int(record.step) > saved.step));
        bases.push(Some(saved.with(records)));
    }
    Ok(bases)
}

/// The records of these instances that are not indexed yet, in order.
fn unindexed_of(
    connection: &Connection,
    keys: &[InstanceKey],
    mark: i64,
) -> Result<FxHashMap<i64, Vec<Record>>> {
    let mut found: FxHashMap<i64, Vec<Record>> = keys.iter().map(|key| (key.0, Vec::new())).collect();
    let sql = format!("SELECT {RECORD} FROM journal j WHERE seq > ?1 ORDER BY seq");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([mark])?;
    while let Some(row) = rows.next()? {
        if let Some(records) = found.get_mut(&row.get(1)?) {
            records.push(rows::record(row)?);
        }
    }
    Ok(found)
}

/// A snapshot as it is stored.
struct Saved {
    step: i64,
    after_seq: i64,
    body: String,
}

impl Saved {
    /// The last one up to a step.
    fn before(connection: &Connection, key: InstanceKey, through_step: i64) -> Result<Option<Saved>> {
        let sql = "SELECT step, after_seq, body FROM snapshots WHERE instance = ?1 AND step <= ?2
                   ORDER BY step DESC LIMIT 1";
        let saved = |row: &rusqlite::Row<'_>| {
            Ok(Saved { step: row.get(0)?, after_seq: row.get(1)?, body: row.get(2)? })
        };
        connection.prepare_cached(sql)?.query_row(params![key.0, through_step], saved).optional()
    }

    fn with(self, mut records: Vec<Record>) -> Base {
        records.retain(|record| record.kind != RecordKind::Failed);
        Base { snapshot: SavedSnapshot { step: rows::uint(self.step), body: self.body }, records }
    }
}

/// Which records of an instance.
struct Range {
    after_seq: i64,
    after_step: i64,
    through_step: i64,
}

impl Range {
    fn read(&self, connection: &Connection, key: InstanceKey, limit: usize) -> Result<Vec<Record>> {
        let mark = indexed_through(connection)?;
        let (mut records, is_past) = self.read_indexed(connection, key, mark, limit)?;
        if records.len() < limit && !is_past {
            records.extend(self.read_unindexed(connection, key, mark, limit - records.len())?);
        }
        Ok(records)
    }

    /// Steps only ever grow, so the first one that is too high ends it: what comes after need not be looked at, be it a
    /// hundred thousand records. Tells whether it came to such a one.
    fn read_indexed(
        &self,
        connection: &Connection,
        key: InstanceKey,
        mark: i64,
        limit: usize,
    ) -> Result<(Vec<Record>, bool)> {
        let sql = format!(
            "SELECT {RECORD} FROM journal_index i JOIN journal j ON j.seq = i.seq
             WHERE i.instance = ?1 AND i.seq > ?2 AND i.seq <= ?3 AND i.step > ?4 ORDER BY i.seq"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params![key.0, self.after_seq, mark, self.after_step])?;
        let mut records = Vec::new();
        while records.len() < limit
            && let Some(row) = rows.next()?
        {
            let record = rows::record(row)?;
            if int(record.step) > self.through_step {
                return Ok((records, true));
            }
            records.push(record);
        }
        Ok((records, false))
    }

    fn read_unindexed(
        &self,
        connection: &Connection,
        key: InstanceKey,
        mark: i64,
        limit: usize,
    ) -> Result<Vec<Record>> {
        let sql = format!(
            "SELECT {RECORD} FROM journal j
             WHERE j.seq > ?2 AND j.instance = ?1 AND j.step > ?3 AND j.step <= ?4 ORDER BY j.seq LIMIT ?5"
        );
        let after = self.after_seq.max(mark);
        let values = params![key.0, after, self.after_step, self.through_step, int(limit as u64)];
        connection.prepare_cached(&sql)?.query_map(values, rows::record)?.collect()
    }
}
