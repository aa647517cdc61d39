//! The search for files that carry authority, and for repositories, at any depth of a project.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::path_cache::SettledValues;
use super::protected_names::protected_name;
use super::{git, git_index};

/// Directories of tools, which are large and which nothing reads instructions from.
const SKIPPED: [&str; 5] = [".git", "node_modules", "target", ".venv", "__pycache__"];
const GIT: &str = ".git";
/// What makes a directory a git directory: the first, and either the next two or the last.
const GIT_PARTS: [&str; 4] = ["HEAD", "objects", "refs", "commondir"];

/// Bounds of a search: a program could make any number of directories first.
const DEPTH_MAX: usize = 4096;
const DIRECTORIES_MAX: usize = 1_000_000;
/// Files that are mounted read-only, those nearest to the root first.
const MOUNTED_MAX: usize = 500;

/// Returns true for a name of the table. Git directories have rules of their own.
fn is_protected(directory: Option<&OsStr>, name: &OsStr) -> bool {
    let lower = |name: &OsStr| name.to_string_lossy().to_lowercase();
    let name = lower(name);
    name != GIT && protected_name(directory.map(lower).as_deref(), &name).is_some()
}

/// Returns the first part of a path with a name of the table.
pub(crate) fn protected_part(path: &Path) -> Option<PathBuf> {
    let (mut at, mut above) = (PathBuf::new(), None);
    for part in path {
        at.push(part);
        if is_protected(above, part) {
            return Some(at);
        }
        above = Some(part);
    }
    None
}

/// The entries of a directory that searches look at.
#[derive(Default)]
pub(crate) struct Listing {
    /// Without links: they lead anywhere.
    pub(crate) directories: Vec<OsString>,
    /// Links, pipes and sockets.
    pub(crate) special: Vec<OsString>,
    /// Git would take it for a git directory.
    pub(crate) is_git: bool,
    /// Files, directories and links with a name of the table.
    protected: Vec<OsString>,
    /// Entries that git would look at for a repository.
    repositories: Vec<OsString>,
}

/// Returns the entries of a directory, read again if it changed.
pub(crate) fn listing(directory: &Path) -> Arc<Listing> {
    static KNOWN: SettledValues<Listing> = SettledValues::new();
    KNOWN.get(directory, |directory| {
        let (mut listing, mut parts) = (Listing::default(), [false; GIT_PARTS.len()]);
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if is_protected(directory.file_name(), &name) {
                listing.protected.push(name.clone());
            }
            if name.eq_ignore_ascii_case(GIT) {
                listing.repositories.push(name.clone());
            }
            for (part, is_there) in GIT_PARTS.iter().zip(&mut parts) {
                *is_there |= name.eq_ignore_ascii_case(part);
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => listing.directories.push(name),
                Ok(kind) if kind.is_file() => {}
                Ok(_) | Err(_) => listing.special.push(name),
            }
        }
        listing.is_git = is_git(parts);
        listing
    })
}

/// Returns true if a directory with these of [`GIT_PARTS`] is a git directory.
fn is_git([head, objects, refs, common]: [bool; GIT_PARTS.len()]) -> bool {
    head && (common || objects && refs)
}

/// Returns the directory of a project, relative to it, that git takes for a git directory once this file exists: a bare
/// repository, whose configuration git obeys in every directory below it.
pub fn git_directory_with(project: &Path, file: &Path) -> Option<PathBuf> {
    let mut above = file.ancestors().zip(file.ancestors().skip(1));
    above.find_map(|(below, directory)| {
        let name = below.file_name()?;
        let at = project.join(directory);
        let parts = GIT_PARTS.map(|part| {
            let is_there = at.join(part).symlink_metadata().is_ok();
            is_there || name.eq_ignore_ascii_case(part)
        });
        is_git(parts).then(|| directory.to_owned())
    })
}

/// Returns the protected files and directories at the root of a project.
pub(crate) fn at_top(project: &Path) -> Vec<PathBuf> {
    listing(project).protected.iter().map(|name| project.join(name)).collect()
}

/// Returns the protected files and directories that an index lists, relative to the working tree. Most files of a large
/// index are none, so the answer is kept as long as the index does not change.
fn tracked(index: &Path) -> Arc<Vec<PathBuf>> {
    static KNOWN: SettledValues<Vec<PathBuf>> = SettledValues::new();
    KNOWN.get(index, |index| {
        let mut found = BTreeSet::new();
        for path in git_index::files(index) {
            found.extend(protected_part(&path));
        }
        found.into_iter().collect()
    })
}

/// What a search found.
#[derive(Default)]
pub(crate) struct Survey {
    /// Files and directories with a name of the table, the nearest to the root first.
    pub(crate) protected: Vec<PathBuf>,
    /// Entries named `.git`, and bare repositories. Without the project's own.
    pub(crate) repositories: Vec<PathBuf>,
}

impl Survey {
    /// Looks at all directories of a project but those of tools.
    pub(crate) fn of(project: &Path) -> Self {
        survey(project)
    }

    /// The same for a project whose path may have links.
    pub(crate) fn of_real(project: &Path) -> Self {
        survey(&project.canonicalize().unwrap_or_else(|_| project.to_owned()))
    }

    /// Returns the files and directories below the root to mount read-only.
    pub(crate) fn mounted(&self, project: &Path) -> impl Iterator<Item = &PathBuf> {
        self.protected.iter().filter(move |path| path.parent() != Some(project)).take(MOUNTED_MAX)
    }

    /// Returns the protected files and directories with their identities.
    pub(crate) fn identities(&self) -> BTreeMap<PathBuf, (u64, u64)> {
        self.protected.iter().filter_map(|path| Some((path.clone(), identity(path)?))).collect()
    }

    /// Returns the protected files that are none of these, outside of worktrees of the project's own repository.
    pub(crate) fn created(&self, project: &Path, known: &BTreeSet<(u64, u64)>) -> Vec<PathBuf> {
        let is_known = |path: &Path| identity(path).is_none_or(|identity| known.contains(&identity));
        let in_worktree = |path: &Path| {
            let above = path.ancestors().skip(1).take_while(|above| *above != project);
            above.into_iter().any(|above| git::is_worktree_of(&above.join(GIT), project))
        };
        let new = self.protected.iter().filter(|path| !is_known(path) && !in_worktree(path));
        new.cloned().collect()
    }
}

fn survey(project: &Path) -> Survey {
    let (mut found, mut repositories) = (BTreeSet::new(), Vec::new());
    for index in git::indexes(project) {
        found.extend(tracked(&index).iter().map(|path| project.join(path)));
    }
    let (mut level, mut left) = (vec![project.to_owned()], DIRECTORIES_MAX);
    for depth in 0..DEPTH_MAX {
        let mut below = Vec::new();
        for directory in &level {
            let listing = listing(directory);
            found.extend(listing.protected.iter().map(|name| directory.join(name)));
            if depth > 0 {
                repositories.extend(listing.repositories.iter().map(|name| directory.join(name)));
            }
            if listing.is_git {
                repositories.push(directory.clone());
            }
            let searched = listing.directories.iter().filter(|name| {
                !listing.protected.contains(name) && !SKIPPED.iter().any(|skipped| *name == skipped)
            });
            for name in searched {
                if left > 0 {
                    left -= 1;
                    below.push(directory.join(name));
                }
            }
        }
        if below.is_empty() {
            break;
        }
        level = below;
    }
    let mut found: Vec<PathBuf> = found.into_iter().filter(|path| path.symlink_metadata().is_ok()).collect();
    found.sort_by_key(|path| path.components().count());
    Survey { protected: found, repositories }
}

/// Identifies a file independently of its path: a directory with protected files may be renamed.
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    let about = path.symlink_metadata().ok()?;
    Some((about.dev(), about.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protected_files_are_found_at_any_depth() {
        let project = tempfile::tempdir().unwrap();
        let root = project.path();
        let write = |name: &str| {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), "x").unwrap();
        };
        for name in
            ["a/b/Agents.md", "a/.vscode/tasks.json", ".envrc", "src/main.rs", "node_modules/x/CLAUDE.md"]
        {
            write(name);
        }
        let found = Survey::of(root).protected;
        let created = |known: &BTreeSet<(u64, u64)>| Survey::of(root).created(root, known);
        let shown: Vec<String> =
            found.iter().map(|path| path.strip_prefix(root).unwrap().display().to_string()).collect();
        assert_eq!(shown, [".envrc", "a/.vscode", "a/b/Agents.md"]);
        let known: BTreeSet<_> = found.iter().filter_map(|path| identity(path)).collect();
        assert_eq!(created(&known), Vec::<PathBuf>::new());
        fs::rename(root.join("a"), root.join("c")).unwrap();
        assert_eq!(created(&known), Vec::<PathBuf>::new());
        write("a/b/AGENTS.md");
        assert_eq!(created(&known), [root.join("a/b/AGENTS.md")]);
        // However deep, and however many directories there are.
        let before = Survey::of(root).identities().into_values().collect();
        let deep = "d/".repeat(40) + ".exrc";
        (0..1_500).for_each(|number| fs::create_dir(root.join(format!("many{number}"))).unwrap());
        ["many1400/AGENTS.md", &deep].iter().for_each(|name| write(name));
        assert_eq!(created(&before), [root.join("many1400/AGENTS.md"), root.join(deep)]);
    }
    #[test]
    fn repositories_are_found_at_any_depth() {
        let project = tempfile::tempdir().unwrap();
        let root = project.path();
        for name in ["a/b/c/d/e/.git", "bare/objects", "bare/refs", "led", "half/objects"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for name in ["bare/HEAD", "led/HEAD", "led/commondir", "half/HEAD"] {
            fs::write(root.join(name), "x").unwrap();
        }
        let mut found = Survey::of(root).repositories;
        found.sort();
        assert_eq!(found, ["a/b/c/d/e/.git", "bare", "led"].map(|name| root.join(name)));
        for (file, expected) in [
            ("bare/config", Some("bare")),
            ("bare/x/y", Some("bare")),
            ("half/refs/keep", Some("half")),
            ("half/config", None),
            ("new/HEAD", None),
            ("src/main.rs", None),
        ] {
            assert_eq!(git_directory_with(root, Path::new(file)), expected.map(PathBuf::from), "{file}");
        }
    }
}
