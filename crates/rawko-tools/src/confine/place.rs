//! Error messages for files that cannot be opened, and the paths that tools never write to.

use std::io;
use std::path::Path;

use rawko_chart::nearest;

use super::protected::ProtectedPaths;
use super::{ProjectRoot, SOURCE};
use crate::outcome::RefusedCall;

impl ProjectRoot {
    pub(super) fn said(&self, path: &str, error: &io::Error) -> String {
        match error.kind() {
            io::ErrorKind::NotFound => match self.similar(path) {
                Some(near) => format!("there is no `{path}`; did you mean `{near}`?"),
                None => format!("there is no `{path}` in the project"),
            },
            io::ErrorKind::NotADirectory => format!("a part of `{path}` is a file and not a directory"),
            io::ErrorKind::PermissionDenied => format!("`{path}` may not be opened: permission denied"),
            _ => format!("`{path}` could not be opened: {error}"),
        }
    }

    /// Returns an entry of the same directory with a similar name.
    fn similar(&self, path: &str) -> Option<String> {
        let relative = self.relative(path).ok()?;
        let parent = relative.parent()?;
        let name = relative.file_name()?.to_str()?;
        let entries = std::fs::read_dir(self.searched(parent.to_str()?).ok()?).ok()?;
        let mut names: Vec<String> =
            entries.take(2000).filter_map(|e| e.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        let near = nearest(name, names.iter().map(String::as_str))?;
        Some(parent.join(near).display().to_string())
    }
}

/// Rejects writes to paths that carry authority: they would change which code runs or what agents may do.
pub(super) fn check_unprotected(place: &Path) -> Result<(), RefusedCall> {
    match ProtectedPaths::part_of(place) {
        Some(part) => Err(protected(place, &format!("`{part}`"))),
        None => Ok(()),
    }
}

/// Like [`check_unprotected`], for a file that exists: it may also be the target of a protected link.
pub(super) fn check_existing(root: &Path, place: &Path) -> Result<(), RefusedCall> {
    check_unprotected(place)?;
    check_repository(root, place)?;
    if rawko_process::is_pinned(&root.join(place)) {
        return Err(protected(place, "the program of a server, a service or an agent"));
    }
    match ProtectedPaths::is_link_target(root, place) {
        true => Err(protected(place, "the target of a protected link")),
        false => Ok(()),
    }
}

/// Rejects writes into a bare repository, and the file that would complete one: git obeys its configuration.
pub(super) fn check_repository(root: &Path, place: &Path) -> Result<(), RefusedCall> {
    match rawko_process::git_directory_with(root, place) {
        Some(_) => Err(protected(place, "a git directory")),
        None => Ok(()),
    }
}

fn protected(place: &Path, part: &str) -> RefusedCall {
    let why = format!(
        "`{}` is never written by tools: {part} instructs agents or starts programs. Ask the person to change it",
        place.display()
    );
    RefusedCall::new("path_protected", SOURCE, why)
}
