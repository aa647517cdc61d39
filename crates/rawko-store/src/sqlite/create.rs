//! Creates a store under another name and renames it when it is complete: a kill at any time leaves no empty file in
//! its place, so that an empty file is always a store that was truncated.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::backup::{io_fault, remove, with_suffix};
use super::connection::open_writer;
use super::fault::fault;
use super::schema;
use crate::StoreError;

/// Distinguishes stores that one process creates at the same time.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Creates the store if its path is free. A path that cannot be used is SQLite's to report.
pub(super) fn create(place: &Path) -> Result<(), StoreError> {
    // A link to a file that does not exist must stay a link.
    if fs::symlink_metadata(place).is_ok() {
        return Ok(());
    }
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let partial = with_suffix(place, &format!(".creating-{}-{number}", std::process::id()));
    if fs::OpenOptions::new().write(true).create_new(true).open(&partial).is_err() {
        return Ok(());
    }
    let created =
        remove(&partial).and_then(|()| fill(&partial, place)).and_then(|()| publish(&partial, place));
    let _ = remove(&partial);
    created
}

fn fill(partial: &Path, place: &Path) -> Result<(), StoreError> {
    let mut connection = open_writer(partial)?;
    // Nothing is lost with an incomplete file.
    connection
        .execute_batch("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF")
        .map_err(|error| fault(place, &error))?;
    schema::migrate(&mut connection, place)?;
    connection.close().map_err(|(_, error)| fault(place, &error))
}

/// Renames a complete file, unless another process was faster.
fn publish(partial: &Path, place: &Path) -> Result<(), StoreError> {
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.map_or_else(|| PathBuf::from("."), Path::to_owned);
    let put = || {
        fs::File::open(partial)?.sync_all()?;
        rename_new(partial, place)?;
        fs::File::open(&folder)?.sync_all()
    };
    put().map_err(|error| io_fault(place, &error))
}

fn rename_new(from: &Path, to: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        // The file system cannot rename without replacing.
        Err(_) if to.exists() => Ok(()),
        Err(_) => fs::rename(from, to),
    }
}
