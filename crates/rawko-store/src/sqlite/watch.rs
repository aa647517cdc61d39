//! Detects that the open files are no longer the ones at the store's path. A database that was deleted, replaced or
//! truncated under an open connection accepts every write and keeps none.

use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::log;
use crate::StoreError;

/// The database, its log and the log's index at the last check. SQLite's locks are in the index: without it, a second host
/// and this one would not see each other's commits, nor the epoch.
pub(super) struct FileWatch {
    files: [WatchedFile; 3],
}

struct WatchedFile {
    what: &'static str,
    /// As a C string, because it is passed to the system at every batch.
    path: CString,
    identity: Identity,
    /// No file becomes shorter while it is open.
    len: u64,
}

/// Device and inode.
type Identity = (u64, u64);

impl FileWatch {
    pub(super) fn new(store: &Path) -> Result<FileWatch, StoreError> {
        // Absolute, because the working directory may change.
        let store = std::path::absolute(store).unwrap_or_else(|_| store.to_owned());
        let log = log::path(&store);
        let index = log::index_path(&store);
        let files = [
            WatchedFile::new("the store", store)?,
            WatchedFile::new("the write-ahead log", log)?,
            WatchedFile::new("the index of the write-ahead log", index)?,
        ];
        Ok(FileWatch { files })
    }

    /// Fails if one of the files is gone, replaced, or shorter.
    pub(super) fn check(&mut self) -> Result<(), StoreError> {
        self.files.iter_mut().try_for_each(WatchedFile::check)
    }

    /// Returns the length of the log at the last check.
    pub(super) fn log_len(&self) -> u64 {
        self.files[1].len
    }

    /// Sets the length of the log, with space that this handle has just reserved at its end. A log that was emptied does
    /// not reach this length again by the next batch, which ends within the reserved space.
    pub(super) fn set_log_len(&mut self, len: u64) {
        self.files[1].len = len;
    }

    /// Like [`FileWatch::check`], after this handle itself truncated the files.
    pub(super) fn check_shrunk(&mut self) -> Result<(), StoreError> {
        self.files.iter_mut().for_each(|file| file.len = 0);
        self.check()
    }
}

impl WatchedFile {
    fn new(what: &'static str, path: PathBuf) -> Result<WatchedFile, StoreError> {
        let path = CString::new(path.into_os_string().into_vec())
            .map_err(|_| StoreError::Io(format!("the path of {what} contains a NUL byte")))?;
        let mut watched = WatchedFile { what, path, identity: (0, 0), len: 0 };
        (watched.identity, watched.len) = watched.look()?;
        Ok(watched)
    }

    fn check(&mut self) -> Result<(), StoreError> {
        let (identity, len) = self.look()?;
        if identity != self.identity {
            return Err(self.lost("replaced by another file"));
        }
        if len < self.len {
            return Err(self.lost("truncated"));
        }
        self.len = len;
        Ok(())
    }

    fn look(&self) -> Result<(Identity, u64), StoreError> {
        identity_and_len(&self.path).map_err(|errno| match errno {
            Errno::NOENT | Errno::NOTDIR => self.lost("deleted"),
            errno => StoreError::Io(format!("{}: {errno}", self.shown().display())),
        })
    }

    fn lost(&self, became: &str) -> StoreError {
        let (what, path) = (self.what, self.shown().display());
        StoreError::Lost(format!("{what} {path} was {became} while it was in use"))
    }

    fn shown(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.path.as_bytes()))
    }
}

/// Without the timestamps: once the time of a change was read, Linux writes the next one to the inode at once,
/// and every commit would pay for another write to the disk.
#[cfg(target_os = "linux")]
fn identity_and_len(path: &CStr) -> Result<(Identity, u64), Errno> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    match statx(CWD, path, AtFlags::empty(), StatxFlags::INO | StatxFlags::SIZE) {
        Ok(found) => {
            let device = u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor);
            Ok(((device, found.stx_ino), found.stx_size))
        }
        Err(Errno::NOSYS) => with_timestamps(path),
        Err(errno) => Err(errno),
    }
}

#[cfg(not(target_os = "linux"))]
fn identity_and_len(path: &CStr) -> Result<(Identity, u64), Errno> {
    with_timestamps(path)
}

fn with_timestamps(path: &CStr) -> Result<(Identity, u64), Errno> {
    let found = rustix::fs::stat(path)?;
    #[allow(clippy::unnecessary_cast, reason = "the types differ between systems")]
    Ok(((found.st_dev as u64, found.st_ino as u64), u64::try_from(found.st_size).unwrap_or(0)))
}
