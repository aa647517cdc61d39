//! Copies of files of authority, for programs that no mount keeps from them: what such a program changed or removed is put back
//! when its call ends.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::any_path;
use super::authority;
use super::git;
use super::names::Survey;
use super::regular;
use super::watch::REFUSED;

/// Bounds of the copies: they are made for every call.
const FILES_MAX: usize = 2000;
const BYTES_MAX: usize = 2 * 1024 * 1024;
/// Below `.rawko` and `.claude`: what rawko and Claude Code write while they work.
const CHANGING: [&str; 6] = [
    ".rawko/state",
    ".rawko/memories",
    ".rawko/tapes",
    ".claude/worktrees",
    ".claude/projects",
    ".claude/todos",
];

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Copy {
    bytes: Vec<u8>,
    mode: u32,
}

/// The files of authority of a project as they were.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct KeptFiles {
    #[serde(with = "any_path::keys")]
    copies: BTreeMap<PathBuf, Copy>,
    /// Protected directories.
    #[serde(with = "any_path::list")]
    directories: Vec<PathBuf>,
    /// All files in them.
    #[serde(with = "any_path::list")]
    known: Vec<PathBuf>,
}

impl KeptFiles {
    pub(crate) fn of(project: &Path, survey: &Survey) -> Self {
        // Git writes its own files; those that it obeys are looked at by other rules.
        let git = git::git_directories(project);
        let is_git = |path: &Path| path.ends_with(".git") || git.iter().any(|git| path.starts_with(git));
        let mut tops = authority::protected(project);
        tops.extend(survey.protected.iter().cloned());
        tops.retain(|path| !is_git(path));
        tops.sort();
        tops.dedup();
        let mut kept = Self { known: files(project, &tops), ..Self::default() };
        kept.directories = tops.into_iter().filter(|path| is_directory(path)).collect();
        let mut bytes = 0;
        for path in &kept.known {
            if let Some(copy) = Copy::of(path).filter(|copy| bytes + copy.bytes.len() <= BYTES_MAX) {
                bytes += copy.bytes.len();
                kept.copies.insert(path.clone(), copy);
            }
        }
        kept
    }

    /// Returns true if a copy of this file, or of one below this directory, was made.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.copies.range(path.to_owned()..).next().is_some_and(|(kept, _)| kept.starts_with(path))
    }

    /// Puts back what differs. `set_aside` renames anything in the way, and returns a line about it.
    pub(crate) fn put_back(&self, project: &Path, set_aside: impl Fn(&Path) -> String) -> Vec<String> {
        let mut lines = Vec::new();
        // With more files than are looked at, new ones are not recognised.
        if self.known.len() < FILES_MAX {
            let now = files(project, &self.directories);
            let is_aside = |path: &Path| path.to_string_lossy().contains(REFUSED);
            let new = now.iter().filter(|path| !self.known.contains(path) && !is_aside(path));
            lines.extend(new.map(|path| set_aside(path)));
        }
        for (path, copy) in &self.copies {
            if Copy::of(path).as_ref() == Some(copy) && leads_straight(project, path) {
                continue;
            }
            // The outermost first: a directory may have become a link.
            let mut above: Vec<&Path> =
                path.ancestors().skip(1).take_while(|above| *above != project).collect();
            above.reverse();
            for directory in above {
                let is_there = directory.symlink_metadata();
                if is_there.as_ref().is_ok_and(|found| !found.is_dir()) {
                    lines.push(set_aside(directory));
                }
                if !is_there.is_ok_and(|found| found.is_dir()) {
                    let _ = fs::create_dir(directory);
                }
            }
            lines.extend(path.symlink_metadata().is_ok().then(|| set_aside(path)));
            if let Err(error) = copy.put(path) {
                lines.push(format!("{} is lost: {error}", path.display()));
            }
        }
        lines
    }
}

fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// Returns the files below these paths, links included, up to a bound.
fn files(project: &Path, tops: &[PathBuf]) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), tops.to_vec());
    while let Some(path) = open.pop().filter(|_| found.len() < FILES_MAX) {
        if CHANGING.iter().any(|name| path == project.join(name)) {
            continue;
        }
        if is_directory(&path) {
            open.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        } else if path.symlink_metadata().is_ok() {
            found.push(path);
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Returns true if no directory between the project and a path is a link.
fn leads_straight(project: &Path, path: &Path) -> bool {
    let mut above = path.ancestors().skip(1).take_while(|above| *above != project);
    above.all(is_directory)
}

impl Copy {
    fn of(path: &Path) -> Option<Self> {
        let found = path.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
        let mode = found.permissions().mode() & 0o777;
        Some(Self { bytes: regular::read(path)?, mode })
    }

    fn put(&self, path: &Path) -> std::io::Result<()> {
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(self.mode).open(path)?;
        file.write_all(&self.bytes)?;
        file.set_permissions(fs::Permissions::from_mode(self.mode))
    }
}
