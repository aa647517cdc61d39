//! A hash of the project's files, to tell whether anything changed. Separate from git, because a project may have none
//! and Bash may change files that no tool reports.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rawko_settings::{Environment, StateDir};
use rawko_tools::IgnoreRules;

/// Larger files are hashed by length and time: reading them after every round would take longer than the round.
const READ_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Folders that tools write by themselves, also in projects that do not list them for git: no work of an agent.
const GENERATED: [&str; 8] = [
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".venv",
    "node_modules",
    ".hypothesis",
];

/// Returns true for the name of a folder that tools write by themselves.
pub(crate) fn is_generated(name: &std::ffi::OsStr) -> bool {
    GENERATED.iter().any(|generated| name == *generated)
}

/// Walks over everything that git would not ignore, in one order. Files of rawko and git are left out.
fn walk(root: &Path) -> ignore::Walk {
    let mut walk = ignore::WalkBuilder::new(root);
    walk.require_git(false).hidden(false).sort_by_file_name(|a, b| a.cmp(b));
    // A home directory may be the project.
    let state = StateDir::of(&Environment::of_process()).ok();
    let state = state.and_then(|state| state.below(&root.canonicalize().ok()?)).map(|path| root.join(path));
    let rules = IgnoreRules::of_walk(&mut walk, root, true, true);
    walk.filter_entry(move |entry| {
        let is_own = entry.depth() == 1 && (entry.file_name() == ".git" || entry.file_name() == ".rawko");
        let is_state = state.as_deref() == Some(entry.path());
        !is_own && !is_state && !is_generated(entry.file_name()) && !rules.is_ignored(entry)
    });
    walk.build()
}

/// Returns the files and links that git would not ignore, by path in the project. Names that are not UTF-8 are left out.
pub(crate) fn walk_files(root: &Path) -> Vec<String> {
    let files = walk(root).flatten().filter(|entry| entry.file_type().is_some_and(|kind| !kind.is_dir()));
    let paths = files.filter_map(|entry| Some(entry.path().strip_prefix(root).ok()?.to_str()?.to_owned()));
    paths.collect()
}

/// Returns a hash of all files that git would not ignore, with their paths.
pub fn tree_hash(root: &Path) -> String {
    let mut hasher = blake3::Hasher::new();
    for entry in walk(root).flatten() {
        let Some(kind) = entry.file_type() else { continue };
        let name = entry.path().strip_prefix(root).unwrap_or(entry.path());
        if kind.is_dir() {
            continue;
        }
        hasher.update(name.as_os_str().as_encoded_bytes()).update(&[0]);
        if kind.is_symlink() {
            let target = std::fs::read_link(entry.path()).unwrap_or_default();
            hasher.update(target.as_os_str().as_encoded_bytes());
        } else {
            contents(&mut hasher, entry.path());
        }
        hasher.update(&[0]);
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// An unreadable file counts as an empty one: it cannot be compared.
fn contents(hasher: &mut blake3::Hasher, path: &Path) {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return };
    hasher.update(&metadata.len().to_le_bytes());
    if !metadata.is_file() {
        return;
    }
    if metadata.len() > READ_BYTES_MAX {
        let modified =
            metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        hasher.update(&modified.unwrap_or_default().as_nanos().to_le_bytes());
        return;
    }
    let mut body = Vec::new();
    if File::open(path).and_then(|file| file.take(READ_BYTES_MAX).read_to_end(&mut body)).is_ok() {
        hasher.update(&body);
    }
}

#[cfg(test)]
mod tests {
    use super::tree_hash;

    #[test]
    fn every_change_of_a_file_changes_the_hash_and_ignored_files_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("a.txt", "1");
        write(".gitignore", "out/\n");
        let first = tree_hash(dir.path());
        write("out/x", "ignored");
        write(".rawko/state/x", "rawko's own");
        write(".git/x", "git's own");
        write("src/__pycache__/x.pyc", "a tool's own");
        assert_eq!(tree_hash(dir.path()), first);
        write("a.txt", "2");
        let second = tree_hash(dir.path());
        assert_ne!(second, first);
        write(".hidden", "");
        assert_ne!(tree_hash(dir.path()), second);
        std::fs::remove_file(dir.path().join(".hidden")).unwrap();
        write("a.txt", "1");
        assert_eq!(tree_hash(dir.path()), first);
    }
}
