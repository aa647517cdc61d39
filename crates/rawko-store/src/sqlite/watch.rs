//! Whether the files that are written are still the ones that the store's path names. A database that was deleted, replaced or cut
//! under an open connection takes every write and keeps none.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::log;
use crate::StoreError;

/// A look that is not older need not be repeated before a batch: the one after it will do. Without this, a database that was cut while
/// the host was idle could be whole in length again by then, from the checkpoint of that very batch.
const FRESH: Duration = Duration::from_millis(10);

/// The database and its log as they were when they were last looked at.
pub(super) struct Watch {
    files: [Watched; 2],
    looked: Instant,
}

struct Watched {
    what: &'static str,
    path: PathBuf,
    device: u64,
    inode: u64,
    /// Neither of them becomes shorter while it is open.
    len: u64,
}

impl Watch {
    pub(super) fn new(store: &Path) -> Result<Watch, StoreError> {
        // The working directory may change.
        let store = std::path::absolute(store).unwrap_or_else(|_| store.to_owned());
        let log = log::path(&store);
        let files = [Watched::new("the store", store)?, Watched::new("the write-ahead log", log)?];
        Ok(Watch { files, looked: Instant::now() })
    }

    /// An error if one of the files is gone, another one, or shorter.
    pub(super) fn check(&mut self) -> Result<(), StoreError> {
        self.files.iter_mut().try_for_each(Watched::check)?;
        self.looked = Instant::now();
        Ok(())
    }

    /// The same, unless it was done a moment ago.
    pub(super) fn check_if_idle(&mut self) -> Result<(), StoreError> {
        if self.looked.elapsed() < FRESH { Ok(()) } else { self.check() }
    }

    /// The same after this handle itself made the files shorter.
    pub(super) fn check_shrunk(&mut self) -> Result<(), StoreError> {
        self.files.iter_mut().for_each(|file| file.len = 0);
        self.check()
    }
}

impl Watched {
    fn new(what: &'static str, path: PathBuf) -> Result<Watched, StoreError> {
        let metadata = look(what, &path)?;
        Ok(Watched { what, path, device: metadata.dev(), inode: metadata.ino(), len: metadata.len() })
    }

    fn check(&mut self) -> Result<(), StoreError> {
        let metadata = look(self.what, &self.path)?;
        if (metadata.dev(), metadata.ino()) != (self.device, self.inode) {
            return Err(lost(self.what, &self.path, "replaced by another file"));
        }
        if metadata.len() < self.len {
            return Err(lost(self.what, &self.path, "truncated"));
        }
        self.len = metadata.len();
        Ok(())
    }
}

fn look(what: &str, path: &Path) -> Result<Metadata, StoreError> {
    std::fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => lost(what, path, "deleted"),
        _ => StoreError::Io(format!("{}: {error}", path.display())),
    })
}

fn lost(what: &str, path: &Path, became: &str) -> StoreError {
    StoreError::Lost(format!("{what} {} was {became} while it was in use", path.display()))
}
