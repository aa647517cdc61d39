//! Detects that the open files are no longer the ones at the store's path. A database that was deleted, replaced or
//! truncated under an open connection accepts every write and keeps none.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Stat, stat};
use rustix::io::Errno;

use super::log;
use crate::StoreError;

/// A check this recent is not repeated before a batch, because another follows it. Without the check before, a database
/// truncated while the host was idle could have its full length again by then, from the checkpoint of that very batch.
const FRESH: Duration = Duration::from_millis(10);

/// The database and its log at the last check.
pub(super) struct Watch {
    files: [Watched; 2],
    looked: Instant,
}

struct Watched {
    what: &'static str,
    /// As a C string, because it is passed to the system at every batch.
    path: CString,
    device: u64,
    inode: u64,
    /// Neither file becomes shorter while it is open.
    len: i64,
}

impl Watch {
    pub(super) fn new(store: &Path) -> Result<Watch, StoreError> {
        // Absolute, because the working directory may change.
        let store = std::path::absolute(store).unwrap_or_else(|_| store.to_owned());
        let log = log::path(&store);
        let files = [Watched::new("the store", store)?, Watched::new("the write-ahead log", log)?];
        Ok(Watch { files, looked: Instant::now() })
    }

    /// Fails if one of the files is gone, replaced, or shorter.
    pub(super) fn check(&mut self) -> Result<(), StoreError> {
        self.files.iter_mut().try_for_each(Watched::check)?;
        self.looked = Instant::now();
        Ok(())
    }

    /// Like [`Watch::check`], unless it ran a moment ago.
    pub(super) fn check_if_idle(&mut self) -> Result<(), StoreError> {
        if self.looked.elapsed() < FRESH { Ok(()) } else { self.check() }
    }

    /// Like [`Watch::check`], after this handle itself truncated the files.
    pub(super) fn check_shrunk(&mut self) -> Result<(), StoreError> {
        self.files.iter_mut().for_each(|file| file.len = 0);
        self.check()
    }
}

impl Watched {
    fn new(what: &'static str, path: PathBuf) -> Result<Watched, StoreError> {
        let path = CString::new(path.into_os_string().into_vec())
            .map_err(|_| StoreError::Io(format!("the path of {what} contains a NUL byte")))?;
        let mut watched = Watched { what, path, device: 0, inode: 0, len: 0 };
        let found = watched.look()?;
        (watched.device, watched.inode, watched.len) = (found.st_dev, found.st_ino, found.st_size);
        Ok(watched)
    }

    fn check(&mut self) -> Result<(), StoreError> {
        let found = self.look()?;
        if (found.st_dev, found.st_ino) != (self.device, self.inode) {
            return Err(self.lost("replaced by another file"));
        }
        if found.st_size < self.len {
            return Err(self.lost("truncated"));
        }
        self.len = found.st_size;
        Ok(())
    }

    fn look(&self) -> Result<Stat, StoreError> {
        stat(self.path.as_c_str()).map_err(|errno| match errno {
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
