//! The paths that carry authority: they decide what agents may do, instruct agents, or start programs outside of any
//! sandbox. Tools never write them. One list, also for the sandbox, which mounts the same paths read-only.

use std::path::{Component, Path, PathBuf};

use rawko_chart::is_unprintable;
use rawko_process::protected_name;

/// Depth of the search for links below a protected directory.
const DEPTH_MAX: usize = 4;
/// Number of entries that are looked at.
const ENTRIES_MAX: usize = 4_000;

/// The protected paths of a project.
#[derive(Clone, Copy, Debug)]
pub struct ProtectedPaths;

impl ProtectedPaths {
    /// Returns the protected part of a path below the project: `.rawko` in `a/.rawko/config.yaml`. Case is ignored,
    /// because the file system may ignore it.
    pub fn part_of(path: &Path) -> Option<&'static str> {
        let mut directory = None;
        for part in path.components() {
            let Component::Normal(name) = part else { continue };
            let name = folded(&name.to_string_lossy());
            if let Some(found) = protected_name(directory.as_deref(), &name) {
                return Some(found);
            }
            directory = Some(name);
        }
        None
    }

    /// Returns the protected paths that exist at the root of a project.
    pub fn at(root: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
        let mut found: Vec<PathBuf> = entries
            .filter(|entry| Self::part_of(Path::new(&entry.file_name())).is_some())
            .map(|entry| entry.path())
            .collect();
        found.sort();
        found
    }

    /// Returns true if a protected path at the root is a link to this file, or to a directory above it.
    pub(super) fn is_link_target(root: &Path, place: &Path) -> bool {
        let place = root.join(place);
        let mut left = ENTRIES_MAX;
        Self::at(root).iter().any(|path| leads_to(path, &place, DEPTH_MAX, &mut left))
    }
}

/// Returns true if a path is, or contains, a link that leads to a place.
fn leads_to(path: &Path, place: &Path, depth: usize, left: &mut usize) -> bool {
    *left = left.saturating_sub(1);
    if *left == 0 {
        return false;
    }
    if path.is_symlink() {
        return path.canonicalize().is_ok_and(|target| place.starts_with(target));
    }
    if depth == 0 || !path.is_dir() || path.file_name().is_some_and(|name| name == "objects") {
        return false;
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| leads_to(&path, place, depth - 1, left))
}

/// Folds names that a file system may treat as the same: case, ignored characters, dots and spaces at the end.
fn folded(name: &str) -> String {
    let kept: String = name.chars().filter(|character| !is_unprintable(*character)).collect();
    kept.to_lowercase().trim_end_matches(['.', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_authority_are_protected() {
        for (path, expected) in [
            (".rawko/config.yaml", Some(".rawko")),
            (".RAWKO/config.yaml", Some(".rawko")),
            ("a/b/.claude/agents/x.md", Some(".claude")),
            (".mcp.json", Some(".mcp.json")),
            ("AGENTS.md", Some("agents.md")),
            ("docs/Claude.MD", Some("claude.md")),
            (".git/hooks/pre-commit", Some(".git")),
            (".git ", Some(".git")),
            (".g\u{200c}it/config", Some(".git")),
            (".envrc", Some(".envrc")),
            (".husky/pre-commit", Some(".husky")),
            ("src/agents.md.rs", None),
            ("rawko/config.yaml", None),
            (".github/workflows/ci.yml", None),
            (".gitignore", None),
            ("agents.md/readme", Some("agents.md")),
            (".github/prompts/x.prompt.md", Some(".github/prompts")),
            ("a/x.code-workspace", Some("*.code-workspace")),
            (".Helix/config.toml", Some(".helix")),
            (".hg/hgrc", Some(".hg")),
        ] {
            assert_eq!(ProtectedPaths::part_of(Path::new(path)), expected, "{path}");
        }
    }
}
