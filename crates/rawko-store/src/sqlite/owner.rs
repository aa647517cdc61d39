//! Ownership of the file. Each host that opens it increments the epoch, and every transaction checks that its own is
//! still current: a second host fences the first, regardless of the lock file. The same row records whether the file
//! was closed.

use std::path::Path;

use rusqlite::{Connection, Result, TransactionBehavior};

use super::fault::fault;
use super::log;
use crate::StoreError;

/// The right to write, until another host opens the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub(super) epoch: i64,
}

impl Owner {
    /// Takes ownership of the file. The open mark is checkpointed from the log into the file itself, so that it is
    /// visible if the log is lost. From here on the log holds at least one frame.
    pub(super) fn claim(connection: &mut Connection) -> Result<Owner> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute("UPDATE owner SET epoch = epoch + 1, is_open = 1", [])?;
        let epoch = transaction.query_row("SELECT epoch FROM owner", [], |row| row.get(0))?;
        transaction.commit()?;
        checkpoint(connection)?;
        Ok(Owner { epoch })
    }

    /// Must be called within the transaction that it checks.
    pub(super) fn is_current(self, connection: &Connection) -> Result<bool> {
        let mut statement = connection.prepare_cached("SELECT epoch FROM owner")?;
        statement.query_row([], |row| Ok(row.get::<_, i64>(0)? == self.epoch))
    }
}

/// Checkpoints the log as far as readers allow; a later checkpoint does the rest.
pub(super) fn checkpoint(connection: &Connection) -> Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}

/// Fails if the file is empty, or gone while its log is not: a new store would destroy the commits in the log, or hide
/// that there was one. A store gets its name when it is complete, so an empty file is one that was truncated.
pub(super) fn refuse_lost_file(place: &Path) -> Result<(), StoreError> {
    let path = log::path(place);
    let has_log = log::is_there(&path).unwrap_or(false);
    let (shown, log) = (place.display(), path.display());
    let found = std::fs::metadata(place).ok();
    let words = match found {
        Some(found) if found.is_file() && found.len() == 0 => match has_log {
            true => format!(
                "{shown} was truncated to 0 bytes and its write-ahead log {log} was not; restore a backup (`rawko \
                 restore`), or move both files away to begin a new store"
            ),
            false => format!(
                "{shown} was truncated to 0 bytes; restore a backup (`rawko restore`), or remove the file to begin a \
                 new store"
            ),
        },
        Some(_) => return Ok(()),
        None if !has_log => return Ok(()),
        None => format!(
            "{shown} is missing and its write-ahead log {log} is not; restore a backup (`rawko restore`), or move the \
             log away to begin a new store"
        ),
    };
    Err(StoreError::Damaged(words))
}

/// Fails if the file was not closed and its log is gone: all commits since the last checkpoint are lost.
pub(super) fn refuse_lost_log(connection: &Connection, place: &Path) -> Result<(), StoreError> {
    let state = || {
        let sql = "SELECT epoch, is_open FROM owner";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?));
        connection.query_row(sql, [], read).map_err(|error| fault(place, &error))
    };
    let before = state()?;
    if !before.1 {
        return Ok(());
    }
    let path = log::path(place);
    let is_there =
        log::is_there(&path).map_err(|error| StoreError::Io(format!("{}: {error}", path.display())))?;
    // A host may have closed the file in between, and removed the log and the mark.
    if is_there || state()? != before {
        return Ok(());
    }
    let (shown, log) = (place.display(), path.display());
    Err(StoreError::Damaged(format!(
        "{shown} was not closed and its write-ahead log {log} is missing or empty, so the last commits are lost; \
         restore a backup (`rawko restore`), or continue without them (`rawko doctor --accept-loss`)"
    )))
}
