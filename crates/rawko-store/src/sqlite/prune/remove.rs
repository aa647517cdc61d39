//! The removal: one transaction that deletes everything of the pruned instances, then a smaller file.

use rusqlite::Connection;
use rustc_hash::FxHashSet;

use super::super::batch::{Batch, BatchFailure};
use super::super::fault::fault;
use super::super::owner;
use super::super::write::WriteSide;
use super::plan::{ENDED, FAMILY};
use super::{Pruned, blobs};
use crate::InstanceKey;
use crate::StoreError;

/// Deletes everything except the records of the instances in the temporary table `pruned`; the records are deleted
/// first.
const REMOVALS: [&str; 7] = [
    "DELETE FROM journal_index WHERE instance IN (SELECT key FROM pruned)",
    "DELETE FROM snapshots WHERE instance IN (SELECT key FROM pruned)",
    "DELETE FROM effects WHERE instance IN (SELECT key FROM pruned)",
    "DELETE FROM deliveries WHERE instance IN (SELECT key FROM pruned)",
    "DELETE FROM audit WHERE line IN (SELECT line FROM audit_index WHERE instance IN (SELECT id FROM pruned))",
    "DELETE FROM audit_index WHERE instance IN (SELECT id FROM pruned)",
    "DELETE FROM instances WHERE key IN (SELECT key FROM pruned)",
];

/// Their number is in `marks`.
const MESSAGES: &str = "DELETE FROM inbound WHERE \"to\" IN (SELECT key FROM pruned)";

/// `PRAGMA auto_vacuum` of a file that can release single pages.
const INCREMENTAL: i64 = 2;

impl WriteSide {
    pub(in super::super) fn prune(&mut self, roots: &[InstanceKey]) -> Result<Pruned, StoreError> {
        let mut pruned = Pruned::default();
        self.transact(|batch| {
            pruned = remove(batch, roots)?;
            Ok(())
        })?;
        self.forget();
        Ok(pruned)
    }

    pub(in super::super) fn shrink(&mut self) -> Result<(), StoreError> {
        // Checks first that this handle may still write.
        self.probe()?;
        let shrunk = shrink(self.connection());
        shrunk.map_err(|error| fault(self.place(), &error))?;
        self.look_after_shrinking()
    }
}

fn remove(batch: &mut Batch<'_>, roots: &[InstanceKey]) -> Result<Pruned, BatchFailure> {
    // Index everything first: sequence numbers may have gaps in the index, but not after it.
    batch.index()?;
    let connection = batch.connection;
    connection.execute_batch(
        "CREATE TEMP TABLE IF NOT EXISTS pruned (key INTEGER PRIMARY KEY, id TEXT NOT NULL); DELETE FROM pruned;",
    )?;
    for root in roots {
        let is_ended = format!("SELECT 1 FROM instances WHERE key = ?1 AND parent_id IS NULL AND {ENDED}");
        if !connection.prepare_cached(&is_ended)?.exists([root.0])? {
            return Err(BatchFailure::Refused(format!(
                "instance #{} is not an ended top-level instance",
                root.0
            )));
        }
        let sql = format!("{FAMILY} INSERT OR IGNORE INTO pruned SELECT key, id FROM family");
        connection.prepare_cached(&sql)?.execute([root.0])?;
    }
    let mut candidates = FxHashSet::default();
    let keys: Vec<i64> = connection
        .prepare_cached("SELECT key FROM pruned")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for key in keys {
        candidates.extend(blobs::of_instance(connection, key)?);
    }
    let last_seq = batch.last_seq;
    let numbers = "UPDATE marks SET pruned_seq = ?1, pruned_key = max(pruned_key, (SELECT coalesce(max(key), 0) FROM instances))";
    batch.mark(numbers, [last_seq])?;
    batch.in_flight -= batch.change(MESSAGES, [])?;
    let pruned = remove_rows(connection, candidates)?;
    let gone = i64::try_from(pruned.records).unwrap_or(i64::MAX);
    let numbers = "UPDATE marks SET pruned_records = pruned_records + ?1, in_flight = in_flight + ?2";
    batch.mark(numbers, [gone, batch.in_flight])?;
    connection.execute_batch("DELETE FROM pruned")?;
    Ok(pruned)
}

fn remove_rows(connection: &Connection, candidates: FxHashSet<[u8; 16]>) -> Result<Pruned, BatchFailure> {
    let records = "DELETE FROM journal WHERE seq IN (
                       SELECT seq FROM journal_index WHERE instance IN (SELECT key FROM pruned))";
    let mut pruned = Pruned { records: connection.execute(records, [])? as u64, ..Pruned::default() };
    for sql in REMOVALS {
        // The last statement deletes the instances themselves.
        pruned.instances = connection.execute(sql, [])? as u64;
    }
    for name in blobs::unneeded(connection, candidates)? {
        let sql = "DELETE FROM blobs WHERE hash = ?1";
        pruned.blobs += connection.prepare_cached(sql)?.execute([name])? as u64;
    }
    Ok(pruned)
}

fn shrink(connection: &Connection) -> rusqlite::Result<()> {
    let mode: i64 = connection.pragma_query_value(None, "auto_vacuum", |row| row.get(0))?;
    match mode {
        INCREMENTAL => {
            let mut statement = connection.prepare("PRAGMA incremental_vacuum")?;
            let mut rows = statement.query([])?;
            while rows.next()?.is_some() {}
        }
        _ => connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")?,
    }
    // The file shrinks when the log is checkpointed.
    owner::checkpoint(connection)
}
