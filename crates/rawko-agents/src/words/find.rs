//! Finds instruction files. The search is bounded: a project in which it would not end has the root's files only.

use std::path::{Path, PathBuf};

const DEPTH_MAX: usize = 8;
/// Directory entries that are looked at.
const ENTRIES_MAX: usize = 20_000;
const FILES_MAX: usize = 200;
/// Directories of other people's code, or of generated files.
const SKIPPED: [&str; 9] =
    ["node_modules", "target", "vendor", "dist", "build", "out", "venv", "__pycache__", "third_party"];
/// In the order in which they are read. An override replaces the file after it.
const OVERRIDE: &str = "agents.override.md";
const NAMES: [&str; 4] = [OVERRIDE, "agents.md", "claude.md", "claude.local.md"];

pub(super) struct WordPlace {
    pub(super) path: PathBuf,
    /// Relative to the project; empty for the root.
    pub(super) directory: String,
}

/// Returns the files of a project, the root's first.
pub(super) fn places(root: &Path) -> Vec<WordPlace> {
    let mut search = WordSearch { root, left: ENTRIES_MAX, found: Vec::new() };
    let is_whole = search.directory(root, 0);
    if !is_whole {
        search.found.retain(|place| place.directory.is_empty());
    }
    search.found
}

struct WordSearch<'r> {
    root: &'r Path,
    left: usize,
    found: Vec<WordPlace>,
}

impl WordSearch<'_> {
    /// Returns false if a limit was reached.
    fn directory(&mut self, directory: &Path, depth: usize) -> bool {
        let mut names: Vec<(String, PathBuf)> = Vec::new();
        let mut below: Vec<PathBuf> = Vec::new();
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            if self.left == 0 {
                return false;
            }
            self.left -= 1;
            let name = entry.file_name().to_string_lossy().to_lowercase();
            // A link to a directory is not followed: it may lead outside, or round.
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if NAMES.contains(&name.as_str()) {
                names.push((name, entry.path()));
            } else if is_directory && !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
                below.push(entry.path());
            }
        }
        let has_override = names.iter().any(|(name, _)| name == OVERRIDE);
        names.retain(|(name, _)| !(has_override && name == "agents.md"));
        names.sort_by_key(|(name, _)| NAMES.iter().position(|known| known == name));
        let relative = directory.strip_prefix(self.root).unwrap_or(directory).display().to_string();
        let places = names.into_iter().map(|(_, path)| WordPlace { path, directory: relative.clone() });
        self.found.extend(places);
        if self.found.len() > FILES_MAX {
            return false;
        }
        below.sort();
        depth >= DEPTH_MAX || below.iter().all(|path| self.directory(path, depth + 1))
    }
}
