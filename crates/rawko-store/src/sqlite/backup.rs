//! Backups of a whole store: written while a host runs, and restored when none does. Both are verified before they take
//! effect.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

use super::fault::fault;
use super::{SqliteOptions, SqliteStore};
use crate::StoreError;
use crate::store::{Store, StoreReport};

/// Returns further problems of a copy. A clone of the store must not outlive the call.
pub type StoreCheck<'c> = &'c dyn Fn(&Arc<dyn Store>) -> Result<Vec<String>, StoreError>;

/// The result of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreReport {
    /// The report of the restored store.
    pub report: StoreReport,
    /// The path of the replaced store.
    pub replaced: Option<PathBuf>,
}

impl SqliteStore {
    /// Writes a consistent copy to a new file while a host may commit. The copy is a single file. Returns its report:
    /// damage in the store is also in the copy. `check` adds the problems that take a chart to find; it is called with
    /// the copy if the store's own checks find none.
    pub fn backup(&self, target: &Path, check: StoreCheck<'_>) -> Result<StoreReport, StoreError> {
        let partial = with_suffix(target, ".partial");
        remove(&partial)?;
        let written = self.write_copy(&partial).and_then(|()| look_at(&partial, check));
        let report = match written {
            Ok(report) => report,
            Err(error) => {
                let _ = remove(&partial);
                return Err(error);
            }
        };
        take_place(&partial, target)?;
        Ok(report)
    }

    fn write_copy(&self, partial: &Path) -> Result<(), StoreError> {
        let name = partial.to_str().ok_or_else(|| {
            StoreError::Io(format!("cannot write a backup to {}: its name is not UTF-8", partial.display()))
        })?;
        // For its owner only, like the store. SQLite accepts an empty file.
        let mut options = fs::OpenOptions::new();
        let made = options.write(true).create_new(true).mode(0o600).open(partial);
        made.map_err(|error| {
            StoreError::Io(format!("cannot write the backup {}: {error}", partial.display()))
        })?;
        // Reads in one transaction and checks every page on the way.
        let copied = self.readers.visit(|connection| connection.execute("VACUUM INTO ?1", [name]))?;
        copied.map_err(|error| match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::CannotOpen) => {
                StoreError::Io(format!("cannot write the backup {}: {error}", partial.display()))
            }
            _ => fault(&self.place, &error),
        })?;
        // The copy is not open.
        let close = || Connection::open(partial)?.execute_batch("UPDATE owner SET is_open = 0");
        close().map_err(|error| fault(partial, &error))
    }

    /// Replaces a store with a backup. The store must not be in use: hold its [`crate::Lock`]. An existing store is
    /// kept beside it under a name that contains `stamp`. A backup of an earlier format is migrated. `check` is called
    /// as for a backup.
    pub fn restore(
        backup: &Path,
        store: &Path,
        stamp: &str,
        check: StoreCheck<'_>,
    ) -> Result<RestoreReport, StoreError> {
        let incoming = with_suffix(store, ".restoring");
        remove(&incoming)?;
        let checked = copy(backup, &incoming).and_then(|()| look_at(&incoming, check));
        let report = match checked {
            Ok(report) if report.problems.is_empty() => {
                StoreReport { place: store.display().to_string(), ..report }
            }
            Ok(report) => {
                let _ = remove(&incoming);
                let problems = report.problems.join("; ");
                return Err(StoreError::Damaged(format!("the backup {}: {problems}", backup.display())));
            }
            Err(error) => {
                let _ = remove(&incoming);
                // The person knows the backup, and not its copy.
                let (copied, given) = (incoming.display().to_string(), backup.display().to_string());
                return Err(match error {
                    StoreError::Damaged(words) => StoreError::Damaged(words.replace(&copied, &given)),
                    other => other,
                });
            }
        };
        let replaced = keep_aside(store, stamp)?;
        take_place(&incoming, store)?;
        Ok(RestoreReport { report, replaced })
    }
}

/// Opens a copy as a host would, which migrates it, and checks all of it.
fn look_at(copy: &Path, check: StoreCheck<'_>) -> Result<StoreReport, StoreError> {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(copy, SqliteOptions::default())?);
    let mut report = store.report()?;
    if report.problems.is_empty() {
        report.problems = check(&store)?;
    }
    drop(store);
    // Without the log, which was removed on close.
    let bytes = fs::metadata(copy).map_err(|error| io_fault(copy, &error))?.len();
    Ok(StoreReport { bytes, ..report })
}

/// Copies the file and, if it was not closed, its log with the mark of its end.
fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    let own = || fs::set_permissions(to, fs::Permissions::from_mode(0o600));
    fs::copy(from, to).and_then(|_| own()).map_err(|error| io_fault(from, &error))?;
    // The end before the log, which may be longer.
    for end in ["-end", "-wal"] {
        let beside = with_suffix(from, end);
        match fs::copy(&beside, with_suffix(to, end)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_fault(&beside, &error)),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

/// Renames an existing store. A log without its file is renamed, too: SQLite would apply it to the restored one.
fn keep_aside(store: &Path, stamp: &str) -> Result<Option<PathBuf>, StoreError> {
    if !store.exists() && !with_suffix(store, "-wal").exists() {
        return Ok(None);
    }
    let aside = (1..)
        .map(|number| match number {
            1 => with_suffix(store, &format!(".replaced-{stamp}")),
            _ => with_suffix(store, &format!(".replaced-{stamp}-{number}")),
        })
        .find(|name| !name.exists());
    let Some(aside) = aside else { return Ok(None) };
    for end in ["-end", "-wal", ""] {
        let from = with_suffix(store, end);
        match fs::rename(&from, with_suffix(&aside, end)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_fault(&from, &error)),
            Ok(()) | Err(_) => {}
        }
    }
    let _ = fs::remove_file(with_suffix(store, "-shm"));
    Ok(Some(aside))
}

/// Renames a finished file to its final name, durably.
pub(super) fn take_place(from: &Path, to: &Path) -> Result<(), StoreError> {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let put = || {
        File::open(from)?.sync_all()?;
        fs::rename(from, to)?;
        File::open(folder)?.sync_all()
    };
    put().map_err(|error| io_fault(to, &error))
}

/// Removes a file of an earlier attempt, with the files that SQLite left beside it.
pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    for end in ["", "-wal", "-shm", "-end", "-journal"] {
        let path = with_suffix(path, end);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_fault(&path, &error)),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

pub(super) fn io_fault(path: &Path, error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            StoreError::Full(format!("{}: {error}", path.display()))
        }
        _ => StoreError::Io(format!("{}: {error}", path.display())),
    }
}
