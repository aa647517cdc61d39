//! The database files that this process has open. POSIX locks belong to a process, and closing any descriptor of a file
//! drops all of them: a file that SQLite has open here must not be opened and closed beside it.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Device and inode: the same file may have several names.
type StoreFileId = (u64, u64);

/// Stores of each file. Locked while one is opened, so that no check reads a file that another thread is opening.
static OPEN: Mutex<BTreeMap<StoreFileId, usize>> = Mutex::new(BTreeMap::new());

/// Counts one store of a file until it is dropped.
pub(super) struct OpenStoreFile(Option<StoreFileId>);

/// Runs `check`, unless this process has the file open and checked it then, and opens the store.
pub(super) fn open_checked<T, E>(
    path: &Path,
    check: impl FnOnce() -> Result<(), E>,
    open: impl FnOnce() -> Result<T, E>,
) -> Result<(T, OpenStoreFile), E> {
    let mut files = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if !id(path).is_some_and(|id| files.contains_key(&id)) {
        check()?;
    }
    let opened = open()?;
    // A new store has no file before.
    let id = id(path);
    if let Some(id) = id {
        *files.entry(id).or_default() += 1;
    }
    Ok((opened, OpenStoreFile(id)))
}

impl Drop for OpenStoreFile {
    fn drop(&mut self) {
        let Some(id) = self.0 else { return };
        let mut files = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = files.get_mut(&id) {
            *count -= 1;
            if *count == 0 {
                files.remove(&id);
            }
        }
    }
}

fn id(path: &Path) -> Option<StoreFileId> {
    std::fs::metadata(path).ok().map(|about| (about.dev(), about.ino()))
}
