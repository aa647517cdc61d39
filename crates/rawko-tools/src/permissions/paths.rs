//! Paths in rules: patterns as in `.gitignore`, and the files that a call concerns.

use std::path::{Component, Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The directories that patterns are relative to.
#[derive(Clone, Debug)]
pub(crate) struct Roots {
    pub(crate) project: PathBuf,
    pub(crate) home: Option<PathBuf>,
}

/// `src/**`, `./.env`, `/docs/*.md` (from the project), `~/.ssh/**`, `//etc/passwd` (absolute).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathPattern {
    text: String,
}

impl PathPattern {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with('!') {
            return Err("negation is not supported; use another list".to_owned());
        }
        let mut builder = GitignoreBuilder::new("/");
        let line = text.trim_start_matches(['~', '.', '/']);
        if line.is_empty() && !text.starts_with('/') {
            return Err("it matches nothing".to_owned());
        }
        builder.add_line(None, line).map_err(|error| error.to_string())?;
        builder.build().map_err(|error| error.to_string())?;
        Ok(Self { text: text.to_owned() })
    }

    pub(super) fn is_exact(&self) -> bool {
        !self.text.contains(['*', '?', '[']) && (self.text.contains('/') && !self.text.ends_with('/'))
    }

    /// Returns true if the pattern is the absolute path of this file, letter by letter.
    pub(super) fn is_path_of(&self, path: &Path, roots: &Roots) -> bool {
        let is_written_so = path.to_str().is_some_and(|path| self.text.strip_prefix('/') == Some(path));
        is_written_so && !self.text.contains('\\') && self.matches(path, roots)
    }

    /// Returns the matcher and its base; `None` if the pattern is below an unknown home directory.
    fn matcher(&self, roots: &Roots) -> Option<(PathBuf, Gitignore)> {
        let text = self.text.as_str();
        let (base, line) = match text.strip_prefix("//") {
            Some(rest) => (PathBuf::from("/"), format!("/{rest}")),
            None => match text.strip_prefix("~/") {
                Some(rest) => (roots.home.clone()?, format!("/{rest}")),
                None => match text.strip_prefix("./") {
                    Some(rest) => (roots.project.clone(), format!("/{rest}")),
                    None => (roots.project.clone(), text.to_owned()),
                },
            },
        };
        let mut builder = GitignoreBuilder::new(&base);
        builder.add_line(None, &line).ok()?;
        Some((base, builder.build().ok()?))
    }

    /// Returns the directory or file before the first wildcard, for a pattern that covers everything below it.
    pub(super) fn literal(&self, roots: &Roots) -> Option<PathBuf> {
        let text = self.text.strip_suffix("/**").unwrap_or(&self.text);
        let is_anchored = text.starts_with("//") || text.starts_with("~/");
        if !is_anchored || text.contains(['*', '?', '[']) {
            return None;
        }
        match (text.strip_prefix("~/"), text.strip_prefix('/')) {
            (Some(rest), _) => Some(roots.home.as_ref()?.join(rest)),
            (None, Some(rest)) => Some(PathBuf::from(rest)),
            (None, None) => None,
        }
    }

    /// Returns true if the pattern matches the path or a directory above it.
    pub(super) fn matches(&self, path: &Path, roots: &Roots) -> bool {
        let Some((base, matcher)) = self.matcher(roots) else { return false };
        // `matched_path_or_any_parents` panics on a path outside of its base.
        let Ok(below) = path.strip_prefix(&base) else { return false };
        if below.as_os_str().is_empty() || below.is_absolute() {
            return false;
        }
        let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
        is_plain
            && (matcher.matched_path_or_any_parents(below, false).is_ignore()
                || matcher.matched_path_or_any_parents(below, true).is_ignore())
    }
}

/// A file of a call: as named, and as it really is. A link must not lead around a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathSubject {
    pub(crate) named: PathBuf,
    pub(crate) real: PathBuf,
    /// The text is empty or ends as the path of a directory does.
    is_folder: bool,
}

impl PathSubject {
    /// Resolves a path relative to a directory below the project.
    pub(crate) fn new(path: &str, directory: &Path, roots: &Roots) -> Self {
        let last = path.rsplit('/').next().unwrap_or_default();
        let is_folder = ["", ".", "..", "~"].contains(&last);
        let path = match (path.strip_prefix("~/"), &roots.home) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_), None) | (None, _) => roots.project.join(directory).join(path),
        };
        let named = lexical(&path);
        let real = resolved(&named);
        Self { named, real, is_folder }
    }

    /// Returns true if the path names one file, which may not exist yet. A rule about a directory holds for everything
    /// below it.
    pub(super) fn is_one_file(&self) -> bool {
        !self.is_folder && !self.real.is_dir()
    }

    pub(super) fn any(&self, pattern: &PathPattern, roots: &Roots) -> bool {
        pattern.matches(&self.named, roots) || pattern.matches(&self.real, roots)
    }

    pub(super) fn all(&self, pattern: &PathPattern, roots: &Roots) -> bool {
        pattern.matches(&self.named, roots) && pattern.matches(&self.real, roots)
    }
}

/// Removes `.` and `..` without following links.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

/// Follows links as far as the path exists.
fn resolved(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut at = path;
    loop {
        if let Ok(real) = at.canonicalize() {
            return rest.iter().rev().fold(real, |path: PathBuf, name| path.join(name));
        }
        match (at.parent(), at.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name.to_owned());
                at = parent;
            }
            _ => return path.to_owned(),
        }
    }
}
