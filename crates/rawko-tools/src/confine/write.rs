//! Writes within the project: whole files, moved into place by a rename, so that no reader sees a partial file. Because
//! the file is new, a hard link to a file outside is never written through.
//!
//! A write goes to the file that was checked: the directory is opened without following links after the file in it was checked,
//! so a link that another process swaps in leads nowhere. Remaining races: another process may change the file between
//! the check and the rename, and the last writer wins; and a directory that another process moves into `.git` at that
//! moment is written to there.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rawko_process::path_handle_flags;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, fchmod, fchown, fstat, mkdirat, openat, renameat, unlinkat,
};
use rustix::fs::{Gid, Uid};

use super::place::{check_existing, check_repository, check_unprotected};
use super::{PathOpenError, PlaceCheck, ProjectRoot, SOURCE, own_state};
use crate::outcome::{RefusedCall, ToolFailure};

/// The result of a write.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WriteResult {
    /// Relative to the root.
    pub(crate) path: PathBuf,
    pub(crate) bytes: usize,
    pub(crate) created: bool,
}

/// Target of a write: an open directory and a name in it.
struct WriteTarget {
    directory: OwnedFd,
    place: PathBuf,
    existing: Option<Stat>,
}

static TEMPORARY: AtomicU64 = AtomicU64::new(0);

impl ProjectRoot {
    pub(crate) fn replace(
        &self,
        path: &str,
        content: &[u8],
        check: PlaceCheck<'_>,
    ) -> Result<WriteResult, ToolFailure> {
        let target = self.target(path)?;
        check(&target.place)?;
        self.put(&target, content).map_err(|error| self.said(path, &error))?;
        Ok(WriteResult { path: target.place, bytes: content.len(), created: target.existing.is_none() })
    }

    /// Checks if a command may write a path, without changing the file system.
    pub(crate) fn check_writable(&self, path: &str) -> Result<(), RefusedCall> {
        let is_elsewhere =
            |place: &PathBuf| super::plain(Path::new(path)).is_some_and(|p| p.starts_with(place));
        if self.writable_elsewhere.iter().any(is_elsewhere) {
            return Ok(());
        }
        let relative = self.relative(path)?;
        for existing in relative.ancestors() {
            match self.open_below(existing, path_handle_flags()) {
                Ok(handle) => {
                    let rest = relative.strip_prefix(existing).unwrap_or(Path::new(""));
                    check_unprotected(&relative)?;
                    return check_existing(&self.root, &self.place_of(&handle, existing).join(rest));
                }
                Err(PathOpenError::Outside) => return Err(leads_out(path)),
                Err(PathOpenError::State) => return Err(own_state(path)),
                Err(PathOpenError::Io(_)) if self.root.join(existing).is_symlink() => {
                    return Err(leads_out(path));
                }
                Err(PathOpenError::Io(_)) => {}
            }
        }
        check_unprotected(&relative)
    }

    fn target(&self, path: &str) -> Result<WriteTarget, ToolFailure> {
        let relative = self.relative(path)?;
        match self.open_below(&relative, path_handle_flags()) {
            Ok(handle) => self.existing(path, &handle, &relative),
            Err(PathOpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                self.fresh(path, &relative)
            }
            Err(error) => Err(self.failure(path, error)),
        }
    }

    /// Resolves an existing file. A link within the project is kept, and its target is written.
    fn existing(&self, path: &str, handle: &OwnedFd, relative: &Path) -> Result<WriteTarget, ToolFailure> {
        let place = self.place_of(handle, relative);
        // Both the path as given, which may be a protected link, and the file that it leads to.
        check_unprotected(relative)?;
        check_existing(&self.root, &place)?;
        let stat = fstat(handle).map_err(|error| self.said(path, &error.into()))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(format!("`{path}` is a directory").into()),
            _ => return Err(format!("`{path}` is not a regular file").into()),
        }
        let parent = place.parent().unwrap_or(Path::new(""));
        // The place has no links. One that is there now was put there after the file was checked.
        let directory = self.open_real(parent, path_handle_flags() | OFlags::DIRECTORY);
        let directory = directory.map_err(|error| self.failure(path, error))?;
        Ok(WriteTarget { directory, place, existing: Some(stat) })
    }

    fn fresh(&self, path: &str, relative: &Path) -> Result<WriteTarget, ToolFailure> {
        // Check the given path before creating directories; the real path is checked afterwards.
        check_unprotected(relative)?;
        check_repository(&self.root, relative)?;
        let Some(name) = relative.file_name() else { return Err(format!("`{path}` is a directory").into()) };
        if self.root.join(relative).is_symlink() {
            return Err(leads_out(path).into());
        }
        let parent = relative.parent().unwrap_or(Path::new(""));
        let (directory, place) = self.directories(path, parent, name.as_ref())?;
        let place = place.join(name);
        check_existing(&self.root, &place)?;
        Ok(WriteTarget { directory, place, existing: None })
    }

    /// Opens a directory and creates missing ones.
    fn directories(&self, path: &str, parent: &Path, name: &Path) -> Result<(OwnedFd, PathBuf), ToolFailure> {
        let open = |place: &Path| self.open_below(place, path_handle_flags() | OFlags::DIRECTORY);
        let mut at = PathBuf::new();
        let mut directory = open(&at).map_err(|error| self.failure(path, error))?;
        for part in parent {
            check_unprotected(&self.place_of(&directory, &at).join(part).join(name))?;
            let next = at.join(part);
            directory = match open(&next) {
                Err(PathOpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                    mkdirat(&directory, part, Mode::from_raw_mode(0o777))
                        .map_err(|error| self.said(path, &error.into()))?;
                    open(&next)
                }
                opened => opened,
            }
            .map_err(|error| self.failure(path, error))?;
            at = next;
        }
        let place = self.place_of(&directory, &at);
        Ok((directory, place))
    }

    fn put(&self, target: &WriteTarget, content: &[u8]) -> io::Result<()> {
        let name = target.place.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let count = TEMPORARY.fetch_add(1, Ordering::Relaxed);
        let temporary = format!(".rawko-{}-{count}.tmp", std::process::id());
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat(&target.directory, &temporary, flags, Mode::from_raw_mode(0o666))?;
        let put = fill(File::from(handle), content, target.existing.as_ref())
            .and_then(|()| Ok(renameat(&target.directory, &temporary, &target.directory, name)?));
        if put.is_err() {
            let _ = unlinkat(&target.directory, &temporary, AtFlags::empty());
        }
        put
    }
}

/// Fills the new file. It takes over the owner (as far as this process may set it) and the permissions of the old file.
fn fill(mut file: File, content: &[u8], existing: Option<&Stat>) -> io::Result<()> {
    if let Some(stat) = existing {
        let _ = fchown(&file, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)));
        fchmod(&file, Mode::from_raw_mode(stat.st_mode))?;
    }
    file.write_all(content)?;
    file.sync_all()
}

fn leads_out(path: &str) -> RefusedCall {
    RefusedCall::new(
        "path_outside",
        SOURCE,
        format!("`{path}` leads out of the project, or to nothing, through a link"),
    )
}
