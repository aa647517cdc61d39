//! Opens connections: one that writes, and several that read without waiting for it.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::fault::{StoreReadError, fault};
use crate::StoreError;

/// Maximum wait for a short lock of another process (a checkpoint, a recovery).
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of idle read connections; more are opened for concurrent reads. A server reads with as many at a time,
/// because opening one costs more than most reads.
const IDLE_READERS_MAX: usize = 16;
const STATEMENTS_MAX: usize = 64;
/// Pages of the write-ahead log before a checkpoint. A commit writes the same few pages again and again, and the time to
/// enter one into the log's index grows with its copies in the log; the fsyncs of a checkpoint are paid once per some
/// hundred commits.
pub(super) const CHECKPOINT_PAGES: u32 = 1_000;

/// Opens the file without changing it, because it may belong to another program. A new one is for its owner only, and
/// SQLite gives its log the same permissions.
pub(super) fn open_writer(place: &Path) -> Result<Connection, StoreError> {
    // An error here is SQLite's to report, also for a file that exists.
    let _ = OpenOptions::new().write(true).create_new(true).mode(0o600).open(place);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    open(place, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX, 16)
}

/// Configures a connection for writing. The journal mode is stored in the file.
pub(super) fn make_durable(connection: &Connection, size_max_bytes: Option<u64>) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // A checkpoint on close would remove the log, which only a host that closed the file properly may do.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    if let Some(bytes) = size_max_bytes {
        let page_bytes: u32 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = i64::try_from(bytes / u64::from(page_bytes)).unwrap_or(i64::MAX).max(1);
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    Ok(())
}

fn open_reader(place: &Path) -> Result<Connection, StoreError> {
    open(place, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX, 2)
}

fn open(place: &Path, flags: OpenFlags, cache_mib: i64) -> Result<Connection, StoreError> {
    let opened = || {
        let connection = Connection::open_with_flags(place, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        // Otherwise SQLite parses and plans a statement again for each new value that might suggest another plan, which
        // took nearly half of the time of a list.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.pragma_update(None, "foreign_keys", false)?;
        connection.pragma_update(None, "temp_store", "memory")?;
        connection.pragma_update(None, "cache_size", -1024 * cache_mib)?;
        Ok(connection)
    };
    opened().map_err(|error| fault(place, &error))
}

/// Read-only connections, each used by one reader at a time.
pub(super) struct Readers {
    place: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(place: &Path) -> Self {
        Readers { place: place.to_owned(), idle: Mutex::default() }
    }

    /// Reads within one transaction, so that all queries see the same state.
    pub(super) fn read<T, E: Into<StoreReadError>>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, StoreError> {
        self.visit(|connection| within(connection, read).map_err(|error| error.into_fault(&self.place)))?
    }

    /// Calls a function with an idle or new connection.
    pub(super) fn visit<T>(&self, visit: impl FnOnce(&Connection) -> T) -> Result<T, StoreError> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = idle().pop();
        let connection = match waiting {
            Some(connection) => connection,
            None => open_reader(&self.place)?,
        };
        let value = visit(&connection);
        // A connection left inside a transaction by an error would show the next reader an old state.
        if connection.is_autocommit() {
            let mut idle = idle();
            if idle.len() < IDLE_READERS_MAX {
                idle.push(connection);
            }
        }
        Ok(value)
    }
}

fn within<T, E: Into<StoreReadError>>(
    connection: &Connection,
    read: impl FnOnce(&Connection) -> Result<T, E>,
) -> Result<T, StoreReadError> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let value = read(connection);
    // Also after an error, so that one damaged instance does not cost the next reader a new connection.
    let ended = connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([]));
    let value = value.map_err(Into::into)?;
    ended?;
    Ok(value)
}
