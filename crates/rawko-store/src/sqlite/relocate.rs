//! Moves a store to another directory, possibly on another disk. A crash at any point leaves one complete store, at the
//! old or at the new path.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use super::backup::{io_fault, remove, take_place, with_suffix};
use super::{SqliteOptions, SqliteStore};
use crate::StoreError;

impl SqliteStore {
    /// Moves a store. Neither path may be in use: hold the [`crate::Lock`] of both. An existing target is never
    /// replaced.
    pub fn relocate(from: &Path, to: &Path) -> Result<(), StoreError> {
        if to.exists() {
            return Err(StoreError::Io(format!("{} already exists", to.display())));
        }
        // Closing it as a host moves every commit from its log into the file, so that one rename moves all.
        drop(SqliteStore::open(from, SqliteOptions::default())?);
        let log = with_suffix(from, "-wal");
        match fs::metadata(&log) {
            Ok(metadata) if metadata.len() > 0 => {
                let why = "another program reads or writes the store";
                return Err(StoreError::Io(format!("cannot close {}: {why}", from.display())));
            }
            Ok(_) | Err(_) => {}
        }
        match fs::rename(from, to) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => copy(from, to)?,
            Err(error) => return Err(io_fault(from, &error)),
        }
        // Earlier releases left it readable for everybody.
        fs::set_permissions(to, fs::Permissions::from_mode(0o600)).map_err(|error| io_fault(to, &error))?;
        take_place(to, to)?;
        remove(from)
    }
}

/// Copies the file under another name first, so that the new path never has half a store.
fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    let partial = with_suffix(to, ".moving");
    remove(&partial)?;
    let put = || {
        let mut source = fs::File::open(from)?;
        let mut target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial)?;
        io::copy(&mut source, &mut target).map(drop)
    };
    put().map_err(|error| io_fault(&partial, &error))?;
    take_place(&partial, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On another disk the store is copied; a half copy of an earlier attempt does not matter.
    #[test]
    fn a_copy_is_whole_and_for_its_owner_only() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("old.db"), directory.path().join("new.db"));
        drop(SqliteStore::open(&from, SqliteOptions::default()).unwrap());
        fs::write(with_suffix(&to, ".moving"), "half").unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(fs::read(&from).unwrap(), fs::read(&to).unwrap());
        assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!with_suffix(&to, ".moving").exists() && from.exists());
    }
}
