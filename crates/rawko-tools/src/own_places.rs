//! Finds rawko's own places in a command line that runs without a sandbox: the state directory, the files that decide about
//! calls, and copies of this program. Nothing confines such a line, so words are read generously: a word counts if any
//! reading of it leads there.

use std::path::{Component, Path, PathBuf};

use super::confine::ProtectedPaths;
use super::unconfined::GATES;

/// Texts that name a part of the state directory, with any directory before them.
const STATE_TEXTS: [&str; 4] = ["operator.token", "rawko.db", "state/rawko", "RAWKO_STATE_DIR"];
/// Programs that read or move whole directories, and those that do with an option.
const WHOLE: [&str; 11] = ["7z", "cpio", "fd", "fdfind", "find", "mv", "rg", "rsync", "scp", "tar", "zip"];
const WHOLE_BY_OPTION: [&str; 9] = ["chmod", "chown", "cp", "egrep", "fgrep", "git", "grep", "rm", "zgrep"];
/// Directories of a line that further words may be relative to.
const BASES_MAX: usize = 20;
/// A smaller file is not a copy of this program.
const PROGRAM_BYTES_MIN: u64 = 1 << 20;

/// Commands of rawko that read the charts they are given.
const LOOKING: [&str; 5] = ["check", "graph", "simulate", "test", "verify"];

/// What a line reaches; the worst counts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineReach {
    /// rawko's state directory.
    State,
    /// A program that is a copy of this one.
    Copy(String),
    /// A directory or file that decides about calls.
    Gate(&'static str),
    /// A directory that contains the state directory, as a whole.
    AboveState,
    Nothing,
}

/// The places that words of a line are relative to, and the state directory.
pub(super) struct OwnPlaces<'a> {
    /// Root of the project. It may itself lie below `.claude`: Claude Code keeps worktrees in `.claude/worktrees`.
    pub(super) root: &'a Path,
    pub(super) cwd: &'a Path,
    pub(super) home: Option<&'a Path>,
    pub(super) state: Option<&'a Path>,
}

impl OwnPlaces<'_> {
    pub(super) fn reach(&self, line: &str) -> LineReach {
        let joined: String = line.chars().filter(|letter| !matches!(letter, '\'' | '"' | '\\')).collect();
        if STATE_TEXTS.iter().any(|text| joined.contains(text)) {
            return LineReach::State;
        }
        // With the quotes removed, and with the quotes as borders.
        let mut words = self.words(&joined);
        words.extend(self.words(line));
        words.sort();
        words.dedup();
        let mut bases = vec![self.cwd.to_owned()];
        let directories = words.iter().map(|word| self.cwd.join(word)).filter(|path| path.is_dir());
        bases.extend(directories.take(BASES_MAX));
        let places: Vec<(&String, PathBuf)> =
            words.iter().flat_map(|word| bases.iter().map(move |base| (word, base.join(word)))).collect();
        let is_whole = is_whole(&words);
        let (mut above, mut gate) = (false, None);
        for (word, path) in &places {
            let place = real(path);
            if let Some(state) = self.state {
                if place.starts_with(state) {
                    return LineReach::State;
                }
                // `~/.l*/s*` may be anything below the directory before the first wildcard.
                let fixed = word.find(['*', '?', '[', '{']).map(|end| path_before(path, word, end));
                let matches_more =
                    fixed.is_some_and(|fixed| self.is_home_or_below(&fixed) && state.starts_with(&fixed));
                above |= matches_more || (is_whole && is_directory_word(word) && state.starts_with(&place));
            }
            if is_copy(path) {
                return LineReach::Copy((*word).clone());
            }
            let part = match Path::new(word).is_absolute() {
                true => part_within(self.root, path),
                false => part_of(Path::new(word)),
            };
            let part = part.or_else(|| part_of_place(self.root, &place));
            gate = gate.or(part.filter(|part| GATES.contains(part)));
        }
        match gate {
            Some(part) => LineReach::Gate(part),
            None if above => LineReach::AboveState,
            None => LineReach::Nothing,
        }
    }

    fn words(&self, line: &str) -> Vec<String> {
        let is_border = |letter: char| letter.is_whitespace() || "'\"`;|&()<>=,:".contains(letter);
        let home = self.home.map(|home| home.display().to_string()).unwrap_or_default();
        let words = line.split(is_border).filter(|word| !word.is_empty());
        words
            .map(|word| {
                let word = word.replace("${HOME}", &home).replace("$HOME", &home);
                match word.strip_prefix('~') {
                    Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
                    Some(_) | None => word,
                }
            })
            .collect()
    }

    fn is_home_or_below(&self, path: &Path) -> bool {
        self.home.is_some_and(|home| path.starts_with(real(home)))
    }
}

/// Returns the directory of a path before the wildcard at this position of its last part, the word.
fn path_before(path: &Path, word: &str, wildcard: usize) -> PathBuf {
    let fixed = &word[..wildcard];
    let kept = fixed.rfind('/').map_or("", |slash| &fixed[..slash]);
    let base = path.to_string_lossy();
    let base = base.strip_suffix(word).unwrap_or_default();
    real(&Path::new(base).join(kept))
}

fn is_directory_word(word: &str) -> bool {
    word == "." || word == ".." || word.contains('/')
}

/// Returns true if a program of the line works on directories as a whole.
fn is_whole(words: &[String]) -> bool {
    let names: Vec<&str> = words.iter().filter_map(|word| word.rsplit('/').next()).collect();
    let has = |all: &[&str]| names.iter().any(|name| all.contains(name));
    let is_recursive = |word: &String| {
        let short = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        word == "--recursive" || short.is_some_and(|letters| letters.contains(['r', 'R', 'a']))
    };
    has(&WHOLE) || (has(&WHOLE_BY_OPTION) && words.iter().any(is_recursive))
}

/// Returns true if a file is this program under another name, by its size.
fn is_copy(path: &Path) -> bool {
    let Ok(found) = path.metadata() else { return false };
    let is_named = path.file_name().is_some_and(|name| name == "rawko");
    let own = || std::env::current_exe().ok().and_then(|own| own.metadata().ok());
    !is_named
        && found.is_file()
        && found.len() >= PROGRAM_BYTES_MIN
        && own().is_some_and(|own| own.len() == found.len())
}

/// Returns the protected part of a path. Worktrees of Claude Code in `.claude` are working copies and decide nothing; the
/// protected files in them are protected.
fn part_of(path: &Path) -> Option<&'static str> {
    let mut parts: Vec<Component<'_>> = Vec::new();
    for part in path.components() {
        // A directory that does not exist yet; links were resolved before.
        match (part, parts.last()) {
            (Component::ParentDir, Some(Component::Normal(_))) => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    let is = |at: usize, name: &str| parts.get(at).is_some_and(|part| part.as_os_str() == name);
    let is_worktrees = |at: usize| is(at, ".claude") && is(at + 1, "worktrees");
    let kept = (0..parts.len()).filter(|at| !is_worktrees(*at) || parts.get(at + 2).is_none());
    ProtectedPaths::part_of(&kept.filter_map(|at| parts.get(at)).collect::<PathBuf>())
}

/// Like [`part_within`], for a path without links.
fn part_of_place(root: &Path, place: &Path) -> Option<&'static str> {
    match place.starts_with(root) {
        true => part_within(root, place),
        false => part_of(place),
    }
}

/// Returns the protected part of a path. Names above the root of the project are not considered for a path below it.
pub(super) fn part_within(root: &Path, path: &Path) -> Option<&'static str> {
    // A project that is a `.claude` directory, for example of a home: its files are protected under that name.
    let root = match ProtectedPaths::part_of(Path::new(root.file_name().unwrap_or_default())) {
        Some(_) => root.parent().unwrap_or(root),
        None => root,
    };
    // The root as the path spells it, which may be through a link. From the outermost directory inwards, so that links to
    // the root inside the project keep their names.
    let spelled = || path.ancestors().collect::<Vec<_>>().into_iter().rev().find(|above| real(above) == root);
    let at = if path.starts_with(root) { Some(root) } else { spelled() };
    let below = at.and_then(|at| path.strip_prefix(at).ok()).filter(|below| is_below(below));
    part_of(below.unwrap_or(path))
}

/// Returns the worktree of Claude Code (`.claude/worktrees/NAME`) that a directory is in, or the root of the project.
pub(super) fn worktree_root(root: &Path, cwd: &Path) -> PathBuf {
    let (all, cwd) = (root.join(".claude/worktrees"), real(cwd));
    let name = cwd.strip_prefix(&all).ok().and_then(|below| below.components().next());
    match name {
        Some(Component::Normal(name)) => all.join(name),
        Some(_) | None => root.to_owned(),
    }
}

/// Returns true if `..` in a relative path never leads above its start.
fn is_below(path: &Path) -> bool {
    let mut depth = 0_usize;
    path.components().all(|part| {
        let next = match part {
            Component::ParentDir => depth.checked_sub(1),
            Component::Normal(_) => depth.checked_add(1),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => Some(depth),
        };
        depth = next.unwrap_or_default();
        next.is_some()
    })
}

/// Returns true for a single command of rawko that reads charts.
pub(super) fn is_look(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let is_rawko = words.next() == Some("rawko") && words.next().is_some_and(|word| LOOKING.contains(&word));
    let is_plain =
        |word: &str| word.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-/=".contains(letter));
    is_rawko && words.all(|word| is_plain(word) && !word.starts_with("-o") && !word.starts_with("--out"))
}

/// Returns a path with the links of its existing part resolved.
pub(super) fn real(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    for existing in path.ancestors() {
        if let Ok(found) = existing.canonicalize() {
            return rest.iter().rev().fold(found, |path, part| path.join(part));
        }
        // `..` after a part that does not exist cannot be resolved, and is kept as it is.
        rest.push(existing.file_name().map_or_else(|| "..".into(), ToOwned::to_owned));
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_lead_to_rawkos_own_places() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let state = home.join(".local/state/rawko");
        let project = home.join("src/project");
        for directory in [&state, &project.join(".claude")] {
            std::fs::create_dir_all(directory).unwrap();
        }
        let places = OwnPlaces { root: &project, cwd: &project, home: Some(&home), state: Some(&state) };
        for line in [
            "cat ~/.local/state/rawko/x",
            "cat $HOME/.local/state/rawko/x",
            "cat \"${HOME}/.local/\"st'at'e/raw\\ko/x",
            "cd ~/.local/state && cat rawko/x",
            "cat ../../.local/state/rawko/x",
            "a=operator.token; cat $b/$a",
            "sqlite3 --db=~/.local/state/rawko/projects/a",
        ] {
            assert_eq!(places.reach(line), LineReach::State, "{line}");
        }
        for line in ["cat ~/.local/s*/r*/o*", "grep -r x ~", "find ~/.local -name x", "tar c ../.."] {
            assert_eq!(places.reach(line), LineReach::AboveState, "{line}");
        }
        for line in ["rm -rf .claude", "sed -i s/a/b/ .rawko/config.yaml", "mv './.claude' c"] {
            assert!(matches!(places.reach(line), LineReach::Gate(_)), "{line}");
        }
        for line in [
            "ls -la ~",
            "cargo test",
            "grep -r x src",
            "git add -A && git commit -m 'a: b'",
            "rm -rf target/*",
        ] {
            assert_eq!(places.reach(line), LineReach::Nothing, "{line}");
        }
    }

    #[test]
    fn a_project_below_a_protected_directory_is_a_project() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let project = home.join("repo/.claude/worktrees/fix");
        std::fs::create_dir_all(project.join(".claude")).unwrap();
        std::fs::create_dir_all(project.join("src")).unwrap();
        std::os::unix::fs::symlink(home.join("repo"), home.join("linked")).unwrap();
        for (root, cwd) in [
            (project.clone(), project.clone()),
            (project.clone(), home.join("linked/.claude/worktrees/fix")),
            (worktree_root(&home.join("repo"), &project.join("src")), project.clone()),
        ] {
            let places = OwnPlaces { root: &root, cwd: &cwd, home: Some(&home), state: None };
            let given = cwd.join("src/a").display().to_string();
            for line in [
                "cargo test > log",
                "touch src/a",
                "cd src && touch ../b",
                "mkdir n && touch n/../c",
                &format!("rm {given}"),
            ] {
                assert_eq!(places.reach(line), LineReach::Nothing, "{line}");
            }
            for line in [
                "touch .claude/settings.json",
                "touch ../../settings.json",
                "touch ../other/.claude/settings.json",
                "rm -rf ../../worktrees",
                "touch n/../../../settings.json",
                "rm -rf ../../../.rawko",
                "touch ~/repo/.claude/settings.json",
                "touch ~/linked/.claude/settings.json",
                &format!("rm {}/.claude/a", cwd.display()),
            ] {
                assert_eq!(places.reach(line), LineReach::Gate(places_part(line)), "{line}");
            }
        }
        // A project that is such a directory itself.
        let own = home.join("repo/.claude");
        let places = OwnPlaces { root: &own, cwd: &own, home: Some(&home), state: None };
        assert_eq!(places.reach("touch settings.json"), LineReach::Gate(".claude"));
    }

    fn places_part(line: &str) -> &'static str {
        if line.contains(".rawko") { ".rawko" } else { ".claude" }
    }
}
