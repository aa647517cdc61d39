//! Reads the journal: of one instance by the index and then past it, or of all instances in order. Always within one
//! transaction, so that the index position and the records agree.

use std::ops::RangeInclusive;

use rusqlite::{Connection, OptionalExtension, Row, params};
use rustc_hash::FxHashMap;

use super::fault::StoreReadError;
use super::rows::{self, RECORD, int};
use super::snapshots::SnapshotRow;
use crate::chain::{self, ChainLink};
use crate::store::SnapshotBase;
use crate::{InstanceKey, Record, RecordKind};

type SqliteResult<T> = std::result::Result<T, StoreReadError>;

/// Returns the last indexed record.
pub(super) fn indexed_through(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("SELECT indexed_through FROM marks")?.query_row([], |row| row.get(0))
}

/// Returns the highest sequence number ever assigned to a record.
pub(super) fn last_seq(connection: &Connection) -> rusqlite::Result<i64> {
    let sql = "SELECT max((SELECT coalesce(max(seq), 0) FROM journal), (SELECT pruned_seq FROM marks))";
    connection.prepare_cached(sql)?.query_row([], |row| row.get(0))
}

pub(super) fn tail(connection: &Connection, after: u64, limit: usize) -> rusqlite::Result<Vec<Record>> {
    let sql = format!("SELECT {RECORD} FROM journal j WHERE seq > ?1 ORDER BY seq LIMIT ?2");
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_map([int(after), int(limit as u64)], rows::record)?.collect()
}

pub(super) fn records(
    connection: &Connection,
    key: InstanceKey,
    after: u64,
    limit: usize,
) -> SqliteResult<Vec<Record>> {
    let range = Range { after_seq: int(after), after_step: -1, through_step: i64::MAX };
    range.read_checked(connection, key, limit)
}

pub(super) fn steps(
    connection: &Connection,
    key: InstanceKey,
    steps: &RangeInclusive<u64>,
    limit: usize,
) -> SqliteResult<Vec<Record>> {
    let after_step = int(*steps.start()).saturating_sub(1);
    // A snapshot before the step that precedes the range: that step is still to be applied on top of it, so all records
    // of the range come after the snapshot's position.
    let sql = "SELECT after_seq FROM snapshots WHERE instance = ?1 AND step < ?2 ORDER BY step DESC LIMIT 1";
    let after_seq: Option<i64> =
        connection.prepare_cached(sql)?.query_row([key.0, after_step], |row| row.get(0)).optional()?;
    let through_step = int(*steps.end());
    let range = Range { after_seq: after_seq.unwrap_or(0), after_step, through_step };
    range.read_checked(connection, key, limit)
}

pub(super) fn base(
    connection: &Connection,
    key: InstanceKey,
    at: Option<u64>,
) -> SqliteResult<Option<SnapshotBase>> {
    let read = || {
        let through_step = at.map_or(i64::MAX, int);
        let Some(saved) = SnapshotRow::before(connection, key, through_step)? else { return Ok(None) };
        let range = Range { after_seq: saved.after_seq, after_step: saved.step, through_step };
        let records = range.read(connection, key, usize::MAX)?;
        built(connection, key, saved, records).map(Some)
    };
    read().map_err(|error: StoreReadError| error.of(connection, key))
}

/// Returns the bases of many instances after their last steps. Reads unindexed records once for all of them. A damaged
/// instance leaves the others readable.
pub(super) fn bases(
    connection: &Connection,
    keys: &[InstanceKey],
) -> SqliteResult<Vec<SqliteResult<Option<SnapshotBase>>>> {
    let mark = indexed_through(connection)?;
    let mut unindexed = unindexed_of(connection, keys, mark)?;
    let mut one = |key: InstanceKey| {
        let Some(saved) = SnapshotRow::before(connection, key, i64::MAX)? else { return Ok(None) };
        let range = Range { after_seq: saved.after_seq, after_step: saved.step, through_step: i64::MAX };
        let (mut records, _) = range.read_indexed(connection, key, mark, usize::MAX)?;
        let later = unindexed.remove(&key.0).unwrap_or(Ok(Vec::new()))?;
        records.extend(later.into_iter().filter(|linked| int(linked.record.step) > saved.step));
        built(connection, key, saved, records).map(Some)
    };
    Ok(keys.iter().map(|key| one(*key).map_err(|error: StoreReadError| error.of(connection, *key))).collect())
}

/// Returns all records of an instance, with their chain verified.
pub(super) fn whole(connection: &Connection, key: InstanceKey) -> SqliteResult<Vec<Record>> {
    let range = Range { after_seq: 0, after_step: -1, through_step: i64::MAX };
    let records = range.read(connection, key, usize::MAX)?;
    check(connection, key, Some(chain::START), &records)?;
    Ok(records.into_iter().map(|linked| linked.record).collect())
}

/// Returns the link for a snapshot of this step: that of the last record up to it.
pub(super) fn link_at(connection: &Connection, key: i64, step: u64) -> rusqlite::Result<Option<ChainLink>> {
    let mark = indexed_through(connection)?;
    let unindexed = "SELECT chain FROM journal WHERE seq > ?3 AND instance = ?1 AND step <= ?2
                     ORDER BY seq DESC LIMIT 1";
    let indexed = "SELECT j.chain FROM journal_index i JOIN journal j ON j.seq = i.seq
                   WHERE i.instance = ?1 AND i.step <= ?2 AND i.seq <= ?3 ORDER BY i.seq DESC LIMIT 1";
    for sql in [unindexed, indexed] {
        let mut statement = connection.prepare_cached(sql)?;
        let found =
            statement.query_row(params![key, int(step), mark], |row| rows::link(row, 0)).optional()?;
        if let Some(link) = found {
            return Ok(link);
        }
    }
    Ok(None)
}

/// Returns the link that the record at this position follows: that of the instance's record before it. [`chain::START`]
/// before the first one, and after one without a link.
fn link_before(connection: &Connection, record: &Record) -> rusqlite::Result<ChainLink> {
    let unindexed =
        "SELECT chain FROM journal WHERE seq > ?3 AND seq < ?2 AND instance = ?1 ORDER BY seq DESC LIMIT 1";
    let indexed = "SELECT j.chain FROM journal_index i JOIN journal j ON j.seq = i.seq
                   WHERE i.instance = ?1 AND i.seq < ?2 AND i.seq <= ?3 ORDER BY i.seq DESC LIMIT 1";
    if record.step == 0 {
        return Ok(chain::START);
    }
    let mark = indexed_through(connection)?;
    for sql in [unindexed, indexed] {
        let mut statement = connection.prepare_cached(sql)?;
        let values = params![record.instance.0, int(record.seq), mark];
        let found = statement.query_row(values, |row| rows::link(row, 0)).optional()?;
        if let Some(link) = found {
            return Ok(link.unwrap_or(chain::START));
        }
    }
    Ok(chain::START)
}

/// A record with its link.
pub(super) struct LinkedRecord {
    pub(super) record: Record,
    /// `None` if an earlier format left the instance's journal inconsistent.
    pub(super) link: Option<ChainLink>,
}

impl LinkedRecord {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<LinkedRecord> {
        Ok(LinkedRecord { record: rows::record(row)?, link: rows::link(row, 8)? })
    }

    /// Returns true if this record was written after the one with this link. A journal that an earlier format left in
    /// disorder has no links; where a chain has begun, a record without one was not written by rawko.
    pub(super) fn follows(&self, previous: Option<&ChainLink>) -> bool {
        match (&self.link, previous) {
            (Some(link), Some(previous)) => *link == chain::link(previous, &self.record),
            (None, Some(previous)) => *previous == chain::START,
            (_, None) => true,
        }
    }
}

/// Returns a snapshot with the records on top of it, with their chain verified.
fn built(
    connection: &Connection,
    key: InstanceKey,
    saved: SnapshotRow,
    records: Vec<LinkedRecord>,
) -> SqliteResult<SnapshotBase> {
    check(connection, key, saved.link, &records)?;
    let mut records: Vec<Record> = records.into_iter().map(|linked| linked.record).collect();
    records.retain(|record| record.kind != RecordKind::Failed);
    Ok(SnapshotBase { snapshot: saved.into_snapshot(), records })
}

/// Fails unless each record follows the one before, and the first one follows this link.
fn check(
    connection: &Connection,
    key: InstanceKey,
    mut previous: Option<ChainLink>,
    records: &[LinkedRecord],
) -> SqliteResult<()> {
    for linked in records {
        if !linked.follows(previous.as_ref()) {
            let what = "the record or the one before it was modified";
            return Err(StoreReadError::damaged(connection, key, int(linked.record.step), what));
        }
        previous = Some(linked.link.unwrap_or(chain::START));
    }
    Ok(())
}

/// Returns the unindexed records of these instances, in order.
fn unindexed_of(
    connection: &Connection,
    keys: &[InstanceKey],
    mark: i64,
) -> SqliteResult<FxHashMap<i64, SqliteResult<Vec<LinkedRecord>>>> {
    let mut found: FxHashMap<i64, SqliteResult<Vec<LinkedRecord>>> =
        keys.iter().map(|key| (key.0, Ok(Vec::new()))).collect();
    let sql = format!("SELECT {RECORD} FROM journal j WHERE seq > ?1 ORDER BY seq");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([mark])?;
    while let Some(row) = rows.next()? {
        let Some(entry) = found.get_mut(&row.get(1)?) else { continue };
        if let Ok(records) = entry {
            match read_linked(connection, row) {
                Ok(linked) => records.push(linked),
                Err(error) => *entry = Err(error),
            }
        }
    }
    Ok(found)
}

/// Reads a record; the error for an invalid row names instance and step.
fn read_linked(connection: &Connection, row: &Row<'_>) -> SqliteResult<LinkedRecord> {
    let key = InstanceKey(row.get(1)?);
    let step = row.get(2)?;
    LinkedRecord::read(row)
        .map_err(|error| StoreReadError::unreadable(connection, key, step, "record", error))
}

/// A range of records of an instance.
struct Range {
    after_seq: i64,
    after_step: i64,
    through_step: i64,
}

impl Range {
    /// Reads records for a reader that continues them: each must follow the one before, and the first one the record
    /// before the range.
    fn read_checked(
        &self,
        connection: &Connection,
        key: InstanceKey,
        limit: usize,
    ) -> SqliteResult<Vec<Record>> {
        let records = self.read(connection, key, limit)?;
        if let Some(first) = records.first() {
            check(connection, key, Some(link_before(connection, &first.record)?), &records)?;
        }
        Ok(records.into_iter().map(|linked| linked.record).collect())
    }

    fn read(
        &self,
        connection: &Connection,
        key: InstanceKey,
        limit: usize,
    ) -> SqliteResult<Vec<LinkedRecord>> {
        let mark = indexed_through(connection)?;
        let (mut records, is_past) = self.read_indexed(connection, key, mark, limit)?;
        if records.len() < limit && !is_past {
            records.extend(self.read_unindexed(connection, key, mark, limit - records.len())?);
        }
        Ok(records)
    }

    /// Reads until the first step past the range. Steps only grow, so later records, possibly a hundred thousand, are
    /// skipped. Returns true if it reached such a step.
    fn read_indexed(
        &self,
        connection: &Connection,
        key: InstanceKey,
        mark: i64,
        limit: usize,
    ) -> SqliteResult<(Vec<LinkedRecord>, bool)> {
        let sql = format!(
            "SELECT {RECORD}, i.step FROM journal_index i LEFT JOIN journal j ON j.seq = i.seq
             WHERE i.instance = ?1 AND i.seq > ?2 AND i.seq <= ?3 AND i.step > ?4 ORDER BY i.seq"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params![key.0, self.after_seq, mark, self.after_step])?;
        let mut records = Vec::new();
        while records.len() < limit
            && let Some(row) = rows.next()?
        {
            let step: i64 = row.get(9)?;
            if step > self.through_step {
                return Ok((records, true));
            }
            if row.get::<_, Option<i64>>(0)?.is_none() {
                return Err(StoreReadError::damaged(connection, key, step, "the record is missing"));
            }
            let linked = LinkedRecord::read(row);
            let linked =
                linked.map_err(|error| StoreReadError::unreadable(connection, key, step, "record", error))?;
            if (linked.record.instance, int(linked.record.step)) != (key, step) {
                return Err(StoreReadError::damaged(connection, key, step, "its record names another one"));
            }
            records.push(linked);
        }
        Ok((records, false))
    }

    fn read_unindexed(
        &self,
        connection: &Connection,
        key: InstanceKey,
        mark: i64,
        limit: usize,
    ) -> SqliteResult<Vec<LinkedRecord>> {
        let sql = format!(
            "SELECT {RECORD} FROM journal j
             WHERE j.seq > ?2 AND j.instance = ?1 AND j.step > ?3 AND j.step <= ?4 ORDER BY j.seq LIMIT ?5"
        );
        let after = self.after_seq.max(mark);
        let values = params![key.0, after, self.after_step, self.through_step, int(limit as u64)];
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query(values)?;
        let mut records = Vec::new();
        while let Some(row) = rows.next()? {
            records.push(read_linked(connection, row)?);
        }
        Ok(records)
    }
}
