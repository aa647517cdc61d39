//! Error messages for files that cannot be opened, and the paths that tools never write to.

use std::io;
use std::path::{Component, Path};

use rawko_chart::nearest;

use super::{Project, SOURCE};
use crate::outcome::Refused;

impl Project {
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

/// Rejects writes inside `.git` and rawko's own state: they would change which code runs or what rawko remembers.
pub(super) fn check_unprotected(place: &Path) -> Result<(), Refused> {
    let mut parts = place.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy().to_lowercase()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    });
    let names: Vec<String> = parts.by_ref().collect();
    let is_git = names.iter().any(|name| name == ".git");
    let is_state = names.windows(2).any(|pair| pair == [".rawko", "state"]);
    if is_git || is_state {
        let why = format!("`{}` is never written by tools", place.display());
        return Err(Refused::new("path_protected", SOURCE, why));
    }
    Ok(())
}
