//! Stored snapshots: each with the link of its record, and a hash over the whole row.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fault::StoreReadError;
use super::rows::{self, uint};
use crate::chain::{ChainLink, half};
use crate::{InstanceKey, SavedSnapshot};

const COLUMNS: &str = "step, after_seq, body, chain, hash";

/// Returns the hash of a row. It covers the instance and the position in the journal, because a change of either would
/// restore a different state.
pub(super) fn hash(key: i64, step: i64, after_seq: i64, link: Option<&ChainLink>, body: &str) -> ChainLink {
    let mut hasher = blake3::Hasher::new();
    for number in [key, step, after_seq] {
        hasher.update(&number.to_le_bytes());
    }
    hasher.update(link.map_or(&[], |link| &link[..]));
    hasher.update(body.as_bytes());
    half(&hasher)
}

pub(super) struct SnapshotRow {
    pub(super) step: i64,
    pub(super) after_seq: i64,
    body: String,
    /// The link of its record; `None` if an earlier format left the journal inconsistent.
    pub(super) link: Option<ChainLink>,
    hash: Option<ChainLink>,
}

impl SnapshotRow {
    /// Returns the last snapshot up to a step.
    pub(super) fn before(
        connection: &Connection,
        key: InstanceKey,
        through_step: i64,
    ) -> Result<Option<SnapshotRow>, StoreReadError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM snapshots WHERE instance = ?1 AND step <= ?2 ORDER BY step DESC LIMIT 1"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, SnapshotRow::read(row)));
        let Some((step, saved)) = statement.query_row(params![key.0, through_step], read).optional()? else {
            return Ok(None);
        };
        let saved =
            saved.map_err(|error| StoreReadError::unreadable(connection, key, step, "snapshot", error))?;
        match saved.is_sound(key) {
            true => Ok(Some(saved)),
            false => Err(StoreReadError::damaged(connection, key, step, "the snapshot was modified")),
        }
    }

    /// Returns all snapshots of one instance, in order, without verifying them.
    pub(super) fn all(
        connection: &Connection,
        key: InstanceKey,
    ) -> rusqlite::Result<Vec<(i64, rusqlite::Result<SnapshotRow>)>> {
        let sql = format!("SELECT {COLUMNS} FROM snapshots WHERE instance = ?1 ORDER BY step");
        let mut statement = connection.prepare_cached(&sql)?;
        statement.query_map([key.0], |row| Ok((row.get(0)?, SnapshotRow::read(row))))?.collect()
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<SnapshotRow> {
        Ok(SnapshotRow {
            step: row.get(0)?,
            after_seq: row.get(1)?,
            body: row.get(2)?,
            link: rows::link(row, 3)?,
            hash: rows::link(row, 4)?,
        })
    }

    pub(super) fn is_sound(&self, key: InstanceKey) -> bool {
        self.hash == Some(hash(key.0, self.step, self.after_seq, self.link.as_ref(), &self.body))
    }

    pub(super) fn into_snapshot(self) -> SavedSnapshot {
        SavedSnapshot { step: uint(self.step), body: self.body }
    }
}
