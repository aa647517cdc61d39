//! The names of files that carry authority: they decide what agents may do, instruct agents, or start programs outside of
//! any sandbox. One list for the tools that write files and for the sandbox, at any depth of a project.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::git;
use super::settled::Settled;

/// Directories whose whole content is protected.
pub const PROTECTED_DIRECTORIES: [&str; 26] = [
    ".git",
    ".rawko",
    ".agents",
    ".claude",
    ".codex",
    ".gemini",
    ".cursor",
    ".vscode",
    ".idea",
    ".husky",
    ".githooks",
    ".devcontainer",
    ".direnv",
    ".ssh",
    // Editors, hooks and other agents.
    ".zed",
    ".fleet",
    ".lefthook",
    ".windsurf",
    ".cline",
    ".clinerules",
    ".roo",
    ".kiro",
    ".continue",
    ".opencode",
    ".amazonq",
    ".qwen",
];

/// Protected files, in lower case.
pub const PROTECTED_FILES: [&str; 43] = [
    ".mcp.json",
    "agents.md",
    "agents.override.md",
    "claude.md",
    "claude.local.md",
    "gemini.md",
    ".cursorrules",
    ".windsurfrules",
    ".gitmodules",
    ".gitconfig",
    ".envrc",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".inputrc",
    ".ripgreprc",
    ".netrc",
    ".pre-commit-config.yaml",
    ".exrc",
    ".vimrc",
    ".nvimrc",
    ".nvim.lua",
    ".dir-locals.el",
    ".dir-locals-2.el",
    ".gdbinit",
    ".lldbinit",
    "lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yml",
    ".aider.conf.yml",
    "opencode.json",
    "opencode.jsonc",
    "copilot-instructions.md",
    ".clinerules",
    ".roomodes",
    ".goosehints",
    "qwen.md",
];

/// Directories of tools, which are large and which nothing reads instructions from.
const SKIPPED: [&str; 5] = [".git", "node_modules", "target", ".venv", "__pycache__"];
/// Bounds of a search.
#[derive(Clone, Copy)]
struct Bounds {
    depth: usize,
    directories: usize,
    found: usize,
}

/// Bounds of the search for files to mount read-only. Files that git's index lists are found in any case.
const MOUNTED: Bounds = Bounds { depth: 12, directories: 1000, found: 500 };
/// For what a call created: a program could make any number of directories first.
const WATCHED: Bounds = Bounds { depth: 4096, directories: 1_000_000, found: usize::MAX };

/// Returns true for a name of the list. Git directories have rules of their own.
fn is_protected(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_lowercase();
    name != ".git"
        && (PROTECTED_DIRECTORIES.contains(&name.as_str()) || PROTECTED_FILES.contains(&name.as_str()))
}

/// The entries of a directory that searches look at.
#[derive(Default)]
pub(crate) struct Listing {
    /// Without links: they lead anywhere.
    pub(crate) directories: Vec<OsString>,
    /// Files, directories and links with a name of the list.
    protected: Vec<OsString>,
}

/// Returns the entries of a directory, read again if it changed.
pub(crate) fn listing(directory: &Path) -> Arc<Listing> {
    static KNOWN: Settled<Listing> = Settled::new();
    KNOWN.get(directory, |directory| {
        let mut listing = Listing::default();
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if is_protected(&name) {
                listing.protected.push(name.clone());
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                listing.directories.push(name);
            }
        }
        listing
    })
}

/// Returns the protected files and directories at the root of a project.
pub(crate) fn at_top(project: &Path) -> Vec<PathBuf> {
    listing(project).protected.iter().map(|name| project.join(name)).collect()
}

/// Returns the protected files and directories of a project to mount read-only, the nearest to its root first.
pub(crate) fn protected(project: &Path) -> Vec<PathBuf> {
    found(project, MOUNTED)
}

/// Returns the identities of all protected files and directories.
pub(crate) fn known(project: &Path) -> BTreeSet<(u64, u64)> {
    found(project, WATCHED).iter().filter_map(|path| identity(path)).collect()
}

fn found(project: &Path, bounds: Bounds) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    for path in git::tracked_files(project) {
        let mut at = project.to_owned();
        for part in path.components() {
            at.push(part);
            if is_protected(part.as_os_str()) {
                found.insert(at.clone());
                break;
            }
        }
    }
    let (mut level, mut left) = (vec![project.to_owned()], bounds.directories);
    for _ in 0..bounds.depth {
        let mut below = Vec::new();
        for directory in &level {
            let listing = listing(directory);
            found.extend(listing.protected.iter().map(|name| directory.join(name)));
            let searched = listing.directories.iter().filter(|name| !is_protected(name));
            for name in searched.filter(|name| !SKIPPED.iter().any(|skipped| *name == skipped)) {
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
    found.truncate(bounds.found);
    found
}

/// Identifies a file independently of its path: a directory with protected files may be renamed.
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    let about = path.symlink_metadata().ok()?;
    Some((about.dev(), about.ino()))
}

/// Returns the protected files that are none of these, outside of worktrees of the project's own repository.
pub(crate) fn created(project: &Path, known: &BTreeSet<(u64, u64)>) -> Vec<PathBuf> {
    let is_known = |path: &PathBuf| identity(path).is_none_or(|identity| known.contains(&identity));
    let in_worktree = |path: &Path| {
        let above = path.ancestors().skip(1).take_while(|above| *above != project);
        above.into_iter().any(|above| git::is_worktree_of(&above.join(".git"), project))
    };
    found(project, WATCHED).into_iter().filter(|path| !is_known(path) && !in_worktree(path)).collect()
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
        let found = protected(root);
        let shown: Vec<String> =
            found.iter().map(|path| path.strip_prefix(root).unwrap().display().to_string()).collect();
        assert_eq!(shown, [".envrc", "a/.vscode", "a/b/Agents.md"]);
        let known: BTreeSet<_> = found.iter().filter_map(|path| identity(path)).collect();
        assert_eq!(created(root, &known), Vec::<PathBuf>::new());
        fs::rename(root.join("a"), root.join("c")).unwrap();
        assert_eq!(created(root, &known), Vec::<PathBuf>::new());
        write("a/b/AGENTS.md");
        assert_eq!(created(root, &known), [root.join("a/b/AGENTS.md")]);
        // However deep, and however many directories there are.
        let before = super::known(root);
        let deep = "d/".repeat(40) + ".exrc";
        (0..1_500).for_each(|number| fs::create_dir(root.join(format!("many{number}"))).unwrap());
        ["many1400/AGENTS.md", &deep].iter().for_each(|name| write(name));
        assert_eq!(created(root, &before), [root.join("many1400/AGENTS.md"), root.join(deep)]);
    }
}
