//! Copies of trees on disk. Large files share their blocks where the file system can do that.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::checkpoints::{Checkpoints, Manifest, PathKind, PathState, read_copy, real_path, scan_copy};

/// Returns the files of a copy with this beginning.
pub(super) async fn scan(history: &Checkpoints, at: &Path, beginning: &Manifest) -> io::Result<Manifest> {
    let (at, project) = (at.to_owned(), history.below_rules().map(Path::to_owned));
    let beginning = beginning.clone();
    tokio::task::spawn_blocking(move || scan_copy(&at, project.as_deref(), &beginning)).await?
}

/// Returns the contents of a file in a copy.
pub(super) async fn read(at: &Path, name: &str) -> io::Result<Option<Vec<u8>>> {
    let (at, path) = (at.to_owned(), real_path(name));
    tokio::task::spawn_blocking(move || read_copy(&at, &path)).await?
}

/// Returns the size of all files in a copy. What cannot be read counts as nothing.
pub(super) fn bytes(at: &Path) -> u64 {
    let mut sum = 0;
    for entry in fs::read_dir(at).into_iter().flatten().flatten() {
        let Ok(about) = entry.metadata() else { continue };
        sum += if about.is_dir() { bytes(&entry.path()) } else { about.len() };
    }
    sum
}

/// Copies a tree as it was at a checkpoint to an empty directory.
pub(super) async fn fill(history: &Checkpoints, number: u64, files: &Manifest, to: &Path) -> io::Result<()> {
    let (from, target, wanted) = (history.root().to_owned(), to.to_owned(), files.clone());
    tokio::task::spawn_blocking(move || copy_all(&from, &target, &wanted)).await??;
    // Files that changed since are taken from the history.
    let made = scan(history, to, files).await?;
    let differing: Vec<(String, PathState, u64)> = files
        .iter()
        .filter(|(name, mark)| {
            matches!(mark.kind, PathKind::File | PathKind::Link) && made.get(*name) != Some(mark)
        })
        .map(|(name, mark)| (name.clone(), mark.clone(), number))
        .collect();
    for ((name, mark, _), body) in differing.iter().zip(history.contents(&differing).await?) {
        let lost = || io::Error::new(io::ErrorKind::NotFound, format!("the contents of {name} are lost"));
        write(&to.join(real_path(name)), mark, &body.ok_or_else(lost)?)?;
    }
    for (name, mark) in files.iter().rev().filter(|(_, mark)| mark.kind == PathKind::Directory) {
        fs::set_permissions(to.join(real_path(name)), Permissions::from_mode(mark.mode))?;
    }
    Ok(())
}

fn copy_all(from: &Path, to: &Path, files: &Manifest) -> io::Result<()> {
    for (name, mark) in files {
        let (source, target): (PathBuf, PathBuf) = (from.join(real_path(name)), to.join(real_path(name)));
        match mark.kind {
            PathKind::Directory => fs::create_dir_all(&target)?,
            PathKind::Link => {
                // A link that was replaced is taken from the history.
                if let Ok(link) = fs::read_link(&source) {
                    symlink(link, &target)?;
                }
            }
            PathKind::File | PathKind::Opaque => {
                let is_file = source.symlink_metadata().is_ok_and(|about| about.is_file());
                if is_file && fs::copy(&source, &target).is_ok() {
                    fs::set_permissions(&target, Permissions::from_mode(mark.mode))?;
                }
            }
        }
    }
    Ok(())
}

fn write(path: &Path, mark: &PathState, body: &[u8]) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    if let Some(above) = path.parent() {
        fs::create_dir_all(above)?;
    }
    if path.symlink_metadata().is_ok() {
        fs::remove_file(path)?;
    }
    if mark.kind == PathKind::Link {
        return symlink(std::ffi::OsStr::from_bytes(body), path);
    }
    fs::write(path, body)?;
    fs::set_permissions(path, Permissions::from_mode(mark.mode))
}
