//! Converts SQLite's errors: the kind of fault, the file, and the remedy.

use std::path::Path;

use rusqlite::{Connection, Error, ErrorCode, ffi};

use crate::InstanceKey;
use crate::StoreError;

/// The reason that a read failed.
pub(super) enum StoreReadError {
    Sqlite(Error),
    /// The stored data differs from the written data; the message names the instance and the step.
    Damaged(String),
}

impl From<Error> for StoreReadError {
    fn from(error: Error) -> Self {
        StoreReadError::Sqlite(error)
    }
}

impl StoreReadError {
    pub(super) fn damaged(
        connection: &Connection,
        key: InstanceKey,
        step: i64,
        what: &str,
    ) -> StoreReadError {
        StoreReadError::Damaged(format!("instance `{}`, step {step}: {what}", id_of(connection, key)))
    }

    /// Returns the error for an invalid row of one instance.
    pub(super) fn unreadable(
        connection: &Connection,
        key: InstanceKey,
        step: i64,
        what: &str,
        error: Error,
    ) -> StoreReadError {
        match is_conversion(&error) {
            true => StoreReadError::damaged(connection, key, step, &format!("unreadable {what}: {error}")),
            false => StoreReadError::Sqlite(error),
        }
    }

    /// Adds the instance that was being read to the error about a damaged page.
    pub(super) fn of(self, connection: &Connection, key: InstanceKey) -> StoreReadError {
        match self {
            StoreReadError::Sqlite(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) =>
            {
                StoreReadError::Damaged(format!("instance `{}`: {error}", id_of(connection, key)))
            }
            StoreReadError::Sqlite(_) | StoreReadError::Damaged(_) => self,
        }
    }

    pub(super) fn into_fault(self, place: &Path) -> StoreError {
        match self {
            StoreReadError::Sqlite(error) => fault(place, &error),
            StoreReadError::Damaged(what) => StoreError::Damaged(format!("{}: {what}", place.display())),
        }
    }
}

/// Returns the id of an instance for a message; its key if the id is unreadable.
fn id_of(connection: &Connection, key: InstanceKey) -> String {
    let sql = "SELECT id FROM instances WHERE key = ?1";
    connection.query_row(sql, [key.0], |row| row.get(0)).unwrap_or_else(|_| format!("#{}", key.0))
}

/// Returns true if a row held a value that rawko never writes.
pub(super) fn is_conversion(error: &Error) -> bool {
    matches!(
        error,
        Error::FromSqlConversionFailure(..)
            | Error::InvalidColumnType(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::Utf8Error(..)
    )
}

/// Returns the cause of a conversion error without the position of its column.
pub(super) fn cause(error: &Error) -> String {
    match error {
        Error::FromSqlConversionFailure(_, _, inner) => inner.to_string(),
        other => other.to_string(),
    }
}

pub(super) fn fault(place: &Path, error: &Error) -> StoreError {
    let shown = place.display();
    let Some(cause) = error.sqlite_error() else { return other(place, error) };
    match cause.code {
        ErrorCode::DiskFull => full(place, "the disk is full or its size limit is reached"),
        ErrorCode::SystemIoFailure if could_not_grow(cause.extended_code) => {
            full(place, "a file could not grow: disk full, quota or file size limit")
        }
        ErrorCode::DatabaseCorrupt => {
            StoreError::Damaged(format!("{shown}: {error}; keep a copy and try `sqlite3 {shown} .recover`"))
        }
        ErrorCode::NotADatabase => StoreError::Damaged(format!("{shown} is not a rawko store: {error}")),
        ErrorCode::ConstraintViolation => StoreError::Refused(error.to_string()),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            StoreError::Io(format!("{shown} is locked by another process: {error}"))
        }
        // Any other error of SQLite is treated as an I/O error.
        _ => StoreError::Io(format!("{shown}: {error}")),
    }
}

fn full(place: &Path, why: &str) -> StoreError {
    StoreError::Full(format!(
        "{}: {why}; free some space or raise the limit; no data is lost",
        place.display()
    ))
}

/// SQLite reports "full" only for one of the errors of a full disk; the others look like any failed write.
fn could_not_grow(extended_code: i32) -> bool {
    matches!(extended_code, ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE | ffi::SQLITE_IOERR_SHMMAP)
}

/// Converts an error of reading a result.
fn other(place: &Path, error: &Error) -> StoreError {
    match is_conversion(error) {
        true => StoreError::Damaged(format!("{}: {error}", place.display())),
        false => StoreError::Io(format!("{}: {error}", place.display())),
    }
}
