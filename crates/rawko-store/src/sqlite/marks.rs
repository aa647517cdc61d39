//! The row of `marks`: numbers of the whole store, with a hash. A modified one would give numbers twice, or hide rows from
//! the index.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Result, Row};

use super::fault::{fault, is_conversion};
use super::rows;
use super::seals::Seal;
use crate::StoreError;
use crate::chain::ChainLink;
use crate::report::{ChainKind, ChainProblem};

/// All of its columns but the hash.
const COLUMNS: &str =
    "indexed_through, inbound, audited_through, pruned_seq, pruned_key, pruned_records, in_flight";
const COLUMNS_LEN: usize = 7;

fn hash(row: &Row<'_>) -> Result<ChainLink> {
    let mut seal = Seal::new("marks", 0);
    for column in 0..COLUMNS_LEN {
        seal.number(row.get(column)?);
    }
    Ok(seal.finish())
}

/// Writes the hash again, after a change.
pub(super) fn renew(connection: &Connection) -> Result<()> {
    let sql = format!("SELECT {COLUMNS} FROM marks");
    let hash = connection.prepare_cached(&sql)?.query_row([], hash)?;
    connection.prepare_cached("UPDATE marks SET seal = ?1")?.execute([hash]).map(drop)
}

/// Returns true if the row is there as it was written.
fn is_sound(connection: &Connection) -> Result<bool> {
    let sql = format!("SELECT {COLUMNS}, seal FROM marks");
    let read = |row: &Row<'_>| Ok(rows::link(row, COLUMNS_LEN)? == Some(hash(row)?));
    match connection.query_row(&sql, [], read).optional() {
        Err(error) if is_conversion(&error) => Ok(false),
        found => Ok(found?.unwrap_or(false)),
    }
}

/// Passes a damaged row to the callback.
pub(super) fn verify(connection: &Connection, tell: &mut dyn FnMut(ChainProblem)) -> Result<()> {
    if !is_sound(connection)? {
        let message = "the row of `marks` is missing or was modified".to_owned();
        tell(ChainProblem { chain: ChainKind::Journal, instance: None, step: None, message });
    }
    Ok(())
}

/// Fails if the row is gone or was modified.
pub(super) fn refuse_modified(connection: &Connection, place: &Path) -> std::result::Result<(), StoreError> {
    match is_sound(connection).map_err(|error| fault(place, &error))? {
        true => Ok(()),
        false => Err(StoreError::Damaged(format!(
            "{}: the row of `marks` is missing or was modified; restore a backup (`rawko restore`), or compute it again \
             from the other tables (`rawko doctor --accept-loss`)",
            place.display()
        ))),
    }
}

/// Computes the row again from the other tables, if it is damaged; and the number of messages in any case, because a
/// person accepts that some are missing.
pub(super) fn restore(connection: &Connection) -> Result<()> {
    if !is_sound(connection)? {
        connection.execute_batch(
            "INSERT INTO marks (indexed_through, inbound) SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM marks);
             UPDATE marks SET
                 indexed_through = (SELECT coalesce(max(seq), 0) FROM journal_index),
                 audited_through = (SELECT coalesce(max(line), 0) FROM audit_index),
                 inbound = (SELECT coalesce(max(seq), 0) FROM inbound),
                 pruned_seq = (SELECT coalesce(max(seq), 0) FROM journal),
                 pruned_key = (SELECT coalesce(max(key), 0) FROM instances),
                 pruned_records = (SELECT coalesce(max(seq), 0) - count(*) FROM journal);",
        )?;
    }
    connection.execute_batch("UPDATE marks SET in_flight = (SELECT count(*) FROM inbound)")?;
    renew(connection)
}
