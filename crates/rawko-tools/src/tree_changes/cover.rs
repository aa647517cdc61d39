//! `GateCoverage`: whether a word of a command line names a directory above those that decide about calls, or a pattern that
//! matches them.

use std::path::{Component, Path, PathBuf};

use globset::GlobBuilder;

use crate::own_places::{part_within, real};
use crate::shell::{LineReading, Word};
use crate::unconfined::GATES;

/// Directories that later words may be relative to.
const BASES_MAX: usize = 20;
/// Alternatives of one word: `{a,b}{c,d}`.
const ALTERNATIVES_MAX: usize = 64;
/// Files of a gate that patterns are compared with.
const FILES_MAX: usize = 500;
const DEPTH_MAX: usize = 6;
/// Files that decide although they may be missing now.
const DECIDING: [(&str, &str); 3] =
    [(".claude", "settings.json"), (".claude", "settings.local.json"), (".rawko", "config.yaml")];
/// Options of shells with which `*` matches hidden names.
const DOT_OPTIONS: [&str; 5] = ["dotglob", "globdots", "GLOB_DOTS", "GLOBIGNORE", "(D"];

pub(super) struct GateCoverage<'a> {
    reading: &'a LineReading,
    project: PathBuf,
    home: Option<&'a Path>,
    cwd: &'a Path,
    gates: Vec<PathBuf>,
    bases: Vec<PathBuf>,
    matches_hidden: bool,
}

impl<'a> GateCoverage<'a> {
    pub(super) fn new(
        line: &str,
        reading: &'a LineReading,
        roots: &[&Path],
        cwd: &'a Path,
        home: Option<&'a Path>,
    ) -> Self {
        let places = roots.iter().copied().chain(home);
        let gates = places.flat_map(|place| GATES.map(|gate| real(place).join(gate))).collect();
        let project = roots.first().map_or_else(|| cwd.to_owned(), |root| real(root));
        let matches_hidden = DOT_OPTIONS.iter().any(|option| line.contains(option));
        let mut coverage = Self { reading, project, home, cwd, gates, bases: Vec::new(), matches_hidden };
        coverage.bases = coverage.bases(line);
        coverage
    }

    /// Returns the possible working directories of the commands: one for `cd DIRECTORY && …`, else every one.
    fn bases(&self, line: &str) -> Vec<PathBuf> {
        let moves = ["cd", "pushd", "popd"];
        let moving: Vec<_> =
            self.reading.commands.iter().filter(|simple| moves.contains(&simple.name())).collect();
        let begins = self.reading.commands.first().is_some_and(|first| moves.contains(&first.name()));
        let targets: Vec<PathBuf> = moving
            .iter()
            .filter_map(|simple| simple.args().iter().find(|word| !word.prefix.starts_with('-')))
            .flat_map(|word| self.texts(word))
            .map(|target| self.cwd.join(target))
            .collect();
        if let ([_], [only]) = (moving.as_slice(), targets.as_slice())
            && begins
            && is_plain_start(line)
            && only.is_dir()
        {
            return vec![real(only)];
        }
        let mut bases = vec![self.cwd.to_owned()];
        for target in targets {
            let below: Vec<PathBuf> = bases.iter().map(|base| base.join(&target)).collect();
            bases.extend(below);
            bases.truncate(BASES_MAX);
        }
        bases
    }

    pub(super) fn bases_of(&self, directory: Option<&Word>) -> Vec<PathBuf> {
        let Some(word) = directory else { return self.bases.clone() };
        let texts = self.texts(word);
        self.bases.iter().flat_map(|base| texts.iter().map(move |text| base.join(text))).collect()
    }

    /// Returns true if a directory contains a gate.
    pub(super) fn is_above(&self, directory: &Path) -> bool {
        let directory = real(directory);
        self.gates.iter().any(|gate| gate.starts_with(&directory))
    }

    /// Returns true if a working directory contains a gate.
    pub(super) fn is_above_here(&self) -> bool {
        self.bases.iter().any(|base| self.is_above(base))
    }

    /// Returns true if a word may name a directory above a gate, or a gate by a pattern.
    pub(super) fn reaches(&self, word: &Word) -> bool {
        if let Some(text) = word.known() {
            return self.bases.iter().any(|base| self.is_above(&base.join(text)));
        }
        self.texts(word).iter().any(|text| self.bases.iter().any(|base| self.text_reaches(base, text)))
    }

    fn text_reaches(&self, base: &Path, text: &str) -> bool {
        let path = base.join(text);
        let parts: Vec<Component<'_>> = path.components().collect();
        let is_pattern = |part: &Component<'_>| has_wildcard(&part.as_os_str().to_string_lossy());
        let Some(at) = parts.iter().position(is_pattern) else {
            let part = part_within(&self.project, &path).filter(|part| GATES.contains(part));
            return self.is_above(&path) || part.is_some();
        };
        let before = real(&parts[..at].iter().collect::<PathBuf>());
        let rest = &parts[at..];
        self.gates.iter().any(|gate| {
            let Ok(below) = gate.strip_prefix(&before) else { return false };
            // A pattern within a gate names it.
            if below.as_os_str().is_empty() {
                return false;
            }
            rest.contains(&Component::ParentDir)
                || rest.iter().zip(below.components()).all(|(pattern, name)| {
                    let (pattern, name) = (pattern.as_os_str().to_string_lossy(), name.as_os_str());
                    self.matches(&pattern, &name.to_string_lossy())
                })
        })
    }

    /// Returns true if a pattern of a shell matches a name.
    fn matches(&self, pattern: &str, name: &str) -> bool {
        let is_hidden = name.starts_with('.') && !pattern.starts_with('.') && !self.matches_hidden;
        !is_hidden && matches(pattern, name)
    }

    /// Returns the readings of a word: without quotes, with known variables, each alternative of `{a,b}`. A word with an
    /// unknown variable may be any value or pattern of the line.
    fn texts(&self, word: &Word) -> Vec<String> {
        if let Some(text) = word.known() {
            return vec![text.to_owned()];
        }
        let here = self.cwd.display().to_string();
        let home = self.home.map(|home| home.display().to_string()).unwrap_or_default();
        let project = self.project.display().to_string();
        let mut text: String =
            word.shown.chars().filter(|letter| !matches!(letter, '\'' | '"' | '\\')).collect();
        for (name, value) in [
            ("${PWD}", &here),
            ("$PWD", &here),
            ("$(pwd)", &here),
            ("`pwd`", &here),
            ("$(git rev-parse --show-toplevel)", &project),
            ("${CLAUDE_PROJECT_DIR}", &project),
            ("$CLAUDE_PROJECT_DIR", &project),
            ("${HOME}", &home),
            ("$HOME", &home),
        ] {
            text = text.replace(name, value);
        }
        if let Some(rest) = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            text = format!("{home}{rest}");
        }
        if text.contains(['$', '`']) {
            let values = self.reading.values.iter().chain(&self.reading.globs);
            return values.filter(|value| !value.trim_matches('/').is_empty()).cloned().collect();
        }
        alternatives(&text)
    }

    /// Returns true if git's pattern, in which `*` matches any path, matches a file of a gate.
    pub(super) fn git_pattern_matches(&self, base: &Path, pattern: &str) -> bool {
        let pattern = real(base).join(pattern).display().to_string();
        self.gates
            .iter()
            .any(|gate| files(gate).iter().any(|file| matches(&pattern, &file.display().to_string())))
    }

    /// Returns true if a pattern on names matches a gate or a file in one.
    pub(super) fn name_matches(&self, pattern: &str) -> bool {
        let pattern = pattern.to_lowercase();
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        self.gates.iter().any(|gate| {
            matches(&pattern, &name(gate)) || files(gate).iter().any(|file| matches(&pattern, &name(file)))
        })
    }

    /// Returns true if every gate below one of these directories is at or below an excluded path.
    pub(super) fn are_excluded(&self, bases: &[PathBuf], excluded: &[PathBuf]) -> bool {
        let excluded: Vec<PathBuf> =
            excluded.iter().flat_map(|path| bases.iter().map(move |base| real(base).join(path))).collect();
        let near: Vec<&PathBuf> = self.gates.iter().filter(|gate| gate.starts_with(&self.project)).collect();
        !near.is_empty() && near.iter().all(|gate| excluded.iter().any(|path| gate.starts_with(path)))
    }
}

/// Returns true if a line begins with `cd DIRECTORY &&`, outside of any subshell.
fn is_plain_start(line: &str) -> bool {
    let first = line.split("&&").next().unwrap_or_default().trim();
    line.contains("&&") && first.starts_with("cd ") && !first.contains([';', '|', '&', '(', '\n', '{'])
}

pub(super) fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// A pattern that cannot be read may match anything.
fn matches(pattern: &str, text: &str) -> bool {
    let glob = GlobBuilder::new(pattern).literal_separator(false).build();
    glob.map_or(true, |glob| glob.compile_matcher().is_match(text))
}

/// Expands `{a,b}`.
fn alternatives(text: &str) -> Vec<String> {
    let mut open = vec![text.to_owned()];
    let mut done = Vec::new();
    while let Some(text) = open.pop() {
        let inside = text.rfind('{').and_then(|from| {
            let to = text[from..].find('}')? + from;
            text[from..to].contains(',').then_some((from, to))
        });
        match inside {
            Some((from, to)) if open.len() + done.len() < ALTERNATIVES_MAX => {
                let parts = text[from + 1..to].split(',');
                open.extend(parts.map(|part| format!("{}{part}{}", &text[..from], &text[to + 1..])));
            }
            Some(_) | None => done.push(text),
        }
    }
    done
}

/// Returns the files of a gate, as far as they are few, and those that decide. Worktrees decide nothing.
fn files(gate: &Path) -> Vec<PathBuf> {
    let own = DECIDING.iter().filter(|(folder, _)| gate.ends_with(folder));
    let mut found: Vec<PathBuf> = own.map(|(_, name)| gate.join(name)).collect();
    let mut folders = vec![(gate.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if found.len() >= FILES_MAX {
                return found;
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && depth < DEPTH_MAX && !(depth == 0 && entry.file_name() == "worktrees") {
                folders.push((entry.path(), depth + 1));
            }
            found.push(entry.path());
        }
    }
    found
}
