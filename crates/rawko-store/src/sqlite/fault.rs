//! What SQLite complains about, in our words: which kind of fault it is, where, and what to do.

use std::path::Path;

use rusqlite::{Error, ErrorCode, ffi};

use crate::StoreError;

pub(super) fn fault(place: &Path, error: &Error) -> StoreError {
    let shown = place.display();
    let Some(cause) = error.sqlite_error() else { return other(place, error) };
    match cause.code {
        ErrorCode::DiskFull => full(place, "it has reached the end of the disk or its own limit"),
        ErrorCode::SystemIoFailure if could_not_grow(cause.extended_code) => {
            full(place, "a file could not be extended: the disk, a quota or a limit on file sizes")
        }
        ErrorCode::DatabaseCorrupt => StoreError::Damaged(format!(
            "{shown}: {error}; keep a copy, and see what `sqlite3 {shown} .recover` can read"
        )),
        ErrorCode::NotADatabase => StoreError::Damaged(format!("{shown} is not a rawko store: {error}")),
        ErrorCode::ConstraintViolation => StoreError::Refused(error.to_string()),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            StoreError::Io(format!("{shown} is locked by another process: {error}"))
        }
        // A closed enum of somebody else's: all that is left is a fault of the world.
        _ => StoreError::Io(format!("{shown}: {error}")),
    }
}

fn full(place: &Path, why: &str) -> StoreError {
    StoreError::Full(format!("{}: {why}; make room or raise the limit, nothing is lost", place.display()))
}

/// SQLite says "full" only for one of the errors a full disk gives; the others look like any failed write.
fn could_not_grow(extended_code: i32) -> bool {
    matches!(extended_code, ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE | ffi::SQLITE_IOERR_SHMMAP)
}

/// An error of reading what SQLite gave: a column that holds what rawko never writes.
fn other(place: &Path, error: &Error) -> StoreError {
    match error {
        Error::FromSqlConversionFailure(..)
        | Error::InvalidColumnType(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::Utf8Error(..) => StoreError::Damaged(format!("{}: {error}", place.display())),
        _ => StoreError::Io(format!("{}: {error}", place.display())),
    }
}
