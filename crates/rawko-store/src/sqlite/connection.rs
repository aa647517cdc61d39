//! Opening connections: one that writes, and a few that read without ever waiting for it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::fault::{ReadError, fault};
use crate::StoreError;

/// How long to wait for another process that holds a lock for a moment (a checkpoint, a recovery).
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Read connections kept for the next reader; more are opened when more read at once.
const IDLE_READERS_MAX: usize = 4;
const STATEMENTS_MAX: usize = 64;
/// Pages of the write-ahead log before it is brought into the file. Larger than SQLite's own choice: what is appended
/// is written twice anyway, and the two fsyncs of a checkpoint are then paid once in some thousand commits.
const CHECKPOINT_PAGES: u32 = 4_000;

/// Nothing in the file is changed by opening it: it may be somebody else's.
pub(super) fn open_writer(place: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    open(place, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX, 16)
}

/// Settings for writing. The first of them is kept in the file.
pub(super) fn make_durable(connection: &Connection, size_max_bytes: Option<u64>) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // Closing takes the log away. That is for a host that has closed the file in order, and for no other.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update_and_check(None, "wal_autocheckpoint", CHECKPOINT_PAGES, |_| Ok(()))?;
    if let Some(bytes) = size_max_bytes {
        let page_bytes: u32 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = i64::try_from(bytes / u64::from(page_bytes)).unwrap_or(i64::MAX).max(1);
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    Ok(())
}

fn open_reader(place: &Path) -> Result<Connection, StoreError> {
    open(place, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX, 4)
}

fn open(place: &Path, flags: OpenFlags, cache_mib: i64) -> Result<Connection, StoreError> {
    let opened = || {
        let connection = Connection::open_with_flags(place, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        connection.pragma_update(None, "foreign_keys", false)?;
        connection.pragma_update(None, "temp_store", "memory")?;
        connection.pragma_update(None, "cache_size", -1024 * cache_mib)?;
        Ok(connection)
    };
    opened().map_err(|error| fault(place, &error))
}

/// Connections that only read, each lent to one reader at a time.
pub(super) struct Readers {
    place: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(place: &Path) -> Self {
        Readers { place: place.to_owned(), idle: Mutex::default() }
    }

    /// Reads within one transaction: whatever is asked in it is of one moment.
    pub(super) fn read<T, E: Into<ReadError>>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, StoreError> {
        self.visit(|connection| within(connection, read).map_err(|error| error.into_fault(&self.place)))?
    }

    /// Lends a connection.
    pub(super) fn visit<T>(&self, visit: impl FnOnce(&Connection) -> T) -> Result<T, StoreError> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = idle().pop();
        let connection = match waiting {
            Some(connection) => connection,
            None => open_reader(&self.place)?,
        };
        let value = visit(&connection);
        // One that is left within a transaction, by an error, would show the past to the next reader.
        if connection.is_autocommit() {
            let mut idle = idle();
            if idle.len() < IDLE_READERS_MAX {
                idle.push(connection);
            }
        }
        Ok(value)
    }
}

fn within<T, E: Into<ReadError>>(
    connection: &Connection,
    read: impl FnOnce(&Connection) -> Result<T, E>,
) -> Result<T, ReadError> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let value = read(connection);
    // Also after an error, so that one damaged instance does not cost the next reader a new connection.
    let ended = connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([]));
    let value = value.map_err(Into::into)?;
    ended?;
    Ok(value)
}
