//! Reading the journal: of one instance by the index and then past it, of all instances in a row. Always within one
//! transaction, so that the mark and the records agree.

use std::ops::RangeInclusive;

use rusqlite::{Connection, OptionalExtension, Result, params};

use super::rows::{self, RECORD, int};
use crate::records::{InstanceKey, Record, RecordKind, SavedSnapshot};
use crate::store::Base;

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
    let sql = "SELECT step, after_seq, body FROM snapshots WHERE instance = ?1 AND step <= ?2
               ORDER BY step DESC LIMIT 1";
    let found = connection
        .prepare_cached(sql)?
        .query_row(params![key.0, through_step], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?))
        })
        .optional()?;
    let Some((step, after_seq, body)) = found else { return Ok(None) };
    let mut records =
        Range { after_seq, after_step: step, through_step }.read(connection, key, usize::MAX)?;
    records.retain(|record| record.kind != RecordKind::Failed);
    Ok(Some(Base { snapshot: SavedSnapshot { step: rows::uint(step), body }, records }))
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
