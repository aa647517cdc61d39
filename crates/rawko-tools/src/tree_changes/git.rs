//! Commands of git that change the working tree: with paths they change these, without paths the whole tree.

use std::path::{Path, PathBuf};

use super::TreeChange;
use super::cover::{GateCoverage, has_wildcard};
use crate::shell::{self, Simple, Word};

const NARROWER: &str = "name the files or directories to change, such as `src`, or exclude these: \
                        `-- . ':!.claude' ':!.rawko'`";
const NARROWER_RESET: &str =
    "restore what you need: `git restore --source=COMMIT --staged --worktree -- src`";
/// Commands that bring another version of the tree. Its content is not known here.
const REPLACING: [&str; 15] = [
    "am",
    "bisect",
    "checkout-index",
    "cherry-pick",
    "filter-branch",
    "merge",
    "merge-index",
    "pull",
    "quiltimport",
    "read-tree",
    "rebase",
    "revert",
    "sparse-checkout",
    "subtree",
    "svn",
];

/// A command of git, without the options before it.
struct GitCommand<'c> {
    name: &'c str,
    args: &'c [Word],
    bases: Vec<PathBuf>,
    coverage: &'c GateCoverage<'c>,
}

pub(super) fn change(simple: &Simple, coverage: &GateCoverage<'_>) -> Option<TreeChange> {
    let (mut at, mut directory) = (0, None);
    let args = simple.args();
    while let Some(text) = args.get(at).and_then(Word::known).filter(|text| text.starts_with('-')) {
        let takes_next = shell::git_value_options().contains(&text);
        if takes_next && ["-C", "--work-tree"].contains(&text) {
            directory = args.get(at + 1);
        }
        at += 1 + usize::from(takes_next);
    }
    let name = args.get(at)?.known()?;
    let bases = coverage.bases_of(directory);
    let command = GitCommand { name, args: args.get(at + 1..).unwrap_or_default(), bases, coverage };
    let shown = || format!("git {name}");
    match command.effect()? {
        GitEffect::Removes => Some(TreeChange::Refused(shown(), NARROWER)),
        GitEffect::Resets => Some(TreeChange::Refused(shown(), NARROWER_RESET)),
        GitEffect::Replaces => Some(TreeChange::Asked(shown())),
    }
}

enum GitEffect {
    Removes,
    Resets,
    Replaces,
}

impl GitCommand<'_> {
    fn effect(&self) -> Option<GitEffect> {
        match self.name {
            "checkout" => self.checkout(),
            "restore" => {
                let only_index = self.has(&["--staged", "-S"]) && !self.has(&["--worktree", "-W"]);
                let covers = self.paths_cover(self.after_dashes().unwrap_or_else(|| self.positional()));
                (!only_index && (covers || self.reads_paths())).then_some(GitEffect::Removes)
            }
            "reset" if self.has(&["--hard"]) => self.is_above_repository().then_some(GitEffect::Resets),
            "reset" => self.whole_if(self.has(&["--merge", "--keep"])),
            "clean" => {
                let does_nothing = self.has(&["--dry-run"]) || self.has_letter('n');
                let paths = self.after_dashes().unwrap_or_else(|| self.positional());
                let covers = match paths.is_empty() {
                    true => self.bases.iter().any(|base| self.coverage.is_above(base)),
                    false => self.paths_cover(paths),
                };
                (!does_nothing && covers).then_some(GitEffect::Removes)
            }
            "stash" => self.stash(),
            "switch" => {
                let (is_new, others) = (self.has(&["-c", "-C", "--create", "--orphan"]), self.positional());
                self.whole_if(!is_new || others.len() > 1)
            }
            "rm" => {
                let paths = self.after_dashes().unwrap_or_else(|| self.positional());
                (!self.has(&["--cached", "-n"]) && self.paths_cover(paths)).then_some(GitEffect::Removes)
            }
            "apply" => {
                let only_looks = ["--check", "--stat", "--numstat", "--summary", "--cached"];
                self.whole_if(!self.has(&only_looks))
            }
            name if REPLACING.contains(&name) => self.whole_if(true),
            // An alias may be anything.
            name => self.whole_if(!shell::is_git_command(name)),
        }
    }

    fn checkout(&self) -> Option<GitEffect> {
        if let Some(paths) = self.after_dashes() {
            return (self.paths_cover(paths)).then_some(GitEffect::Removes);
        }
        if self.reads_paths() {
            return Some(GitEffect::Removes);
        }
        let others = self.positional();
        let is_forced = self.has(&["--force"]) || self.has_letter('f');
        if self.has(&["-b", "-B", "--orphan"]) && !(is_forced && others.is_empty()) {
            return self.whole_if(!others.is_empty());
        }
        let exists = |word: &Word| {
            let text = word.known().unwrap_or(".");
            self.bases.iter().any(|base| base.join(text).symlink_metadata().is_ok())
        };
        match others.as_slice() {
            [] => (is_forced && self.is_above_repository()).then_some(GitEffect::Resets),
            [only] if !exists(only) && !only.known().is_some_and(|text| text.starts_with(':')) => {
                self.whole_if(true)
            }
            [_] => self.paths_cover(others).then_some(GitEffect::Removes),
            [first, paths @ ..] => {
                let first = Some(*first).filter(|first| exists(first));
                let paths = first.into_iter().chain(paths.iter().copied()).collect();
                self.paths_cover(paths).then_some(GitEffect::Removes)
            }
        }
    }

    fn stash(&self) -> Option<GitEffect> {
        let others = self.positional();
        let paths = self.after_dashes();
        let word = others.first().and_then(|word| word.known()).unwrap_or("push");
        match word {
            "list" | "show" | "drop" | "clear" | "create" | "store" => None,
            "pop" | "apply" | "branch" => self.whole_if(true),
            "push" | "save" if self.reads_paths() => Some(GitEffect::Removes),
            "push" => match paths.or_else(|| others.get(1..).map(<[_]>::to_vec)) {
                Some(paths) if !paths.is_empty() => self.paths_cover(paths).then_some(GitEffect::Removes),
                Some(_) | None => self.is_above_repository().then_some(GitEffect::Removes),
            },
            _ => self.is_above_repository().then_some(GitEffect::Removes),
        }
    }

    fn whole_if(&self, replaces: bool) -> Option<GitEffect> {
        (replaces && self.is_above_repository()).then_some(GitEffect::Replaces)
    }

    /// Returns true if the repository of a working directory contains a gate: the nearest one, whichever directory of it
    /// the command runs in.
    fn is_above_repository(&self) -> bool {
        self.bases.iter().any(|base| {
            let top = toplevel(base);
            self.coverage.is_above(top.as_deref().unwrap_or(base))
        })
    }

    fn paths_cover(&self, paths: Vec<&Word>) -> bool {
        let mut excluded = Vec::new();
        let mut covers = false;
        for word in &paths {
            let Some(text) = word.known() else {
                covers |= self.coverage.reaches(word);
                continue;
            };
            match text.strip_prefix(":!").or_else(|| text.strip_prefix(":^")) {
                Some(path) => {
                    excluded.push(PathBuf::from(path.trim_end_matches("/**").trim_end_matches('/')))
                }
                None => covers |= self.bases.iter().any(|base| self.path_covers(base, text)),
            }
        }
        // With nothing but exclusions, everything else is meant.
        covers |= !paths.is_empty() && paths.len() == excluded.len();
        covers && !self.coverage.are_excluded(&self.bases, &excluded)
    }

    fn path_covers(&self, base: &Path, text: &str) -> bool {
        let (base, path) = match text.strip_prefix(":/") {
            Some(path) => (toplevel(base).unwrap_or_else(|| base.to_owned()), path),
            // Other magic: `:(glob)`, `:(icase)`.
            None if text.starts_with(':') => return self.is_above_repository(),
            None => (base.to_owned(), text),
        };
        match has_wildcard(path) {
            true => self.coverage.git_pattern_matches(&base, path),
            false => self.coverage.is_above(&base.join(path)),
        }
    }

    /// Returns the words that are neither options, nor values of options, nor after `--`.
    fn positional(&self) -> Vec<&Word> {
        // `-` is the previous branch.
        let is_option = |word: &Word| word.known().is_some_and(|text| text.starts_with('-') && text != "-");
        self.words().filter(|word| !is_option(word)).collect()
    }

    /// Returns the words before `--` that are no values of options.
    fn words(&self) -> impl Iterator<Item = &Word> {
        let mut before = self.args.iter().take_while(|word| !word.is("--"));
        std::iter::from_fn(move || {
            let word = before.next()?;
            if word.known().is_some_and(|text| self.takes_next(text)) {
                before.next();
            }
            Some(word)
        })
    }

    /// Returns true for an option whose value is the next word.
    fn takes_next(&self, option: &str) -> bool {
        let (letters, long) = self.options_with_value();
        let is_cluster = |text: &&str| !text.starts_with('-');
        let cluster = option.strip_prefix('-').filter(is_cluster);
        let value = cluster.and_then(|cluster| cluster.split_once(letters));
        long.contains(&option) || value.is_some_and(|(_, attached)| attached.is_empty())
    }

    /// The options of the command that take a value: letters, and long ones. The value may follow a letter at once.
    fn options_with_value(&self) -> (&'static [char], &'static [&'static str]) {
        match self.name {
            "checkout" => (&['b', 'B'], &["--orphan"]),
            "clean" => (&['e'], &["--exclude"]),
            "restore" => (&['s'], &["--source"]),
            "stash" => (&['m'], &["--message"]),
            _ => (&[], &[]),
        }
    }

    fn after_dashes(&self) -> Option<Vec<&Word>> {
        let at = self.args.iter().position(|word| word.is("--"))?;
        let after: Vec<&Word> = self.args[at + 1..].iter().collect();
        (!after.is_empty()).then_some(after)
    }

    fn has(&self, options: &[&str]) -> bool {
        self.words().any(|word| options.iter().any(|option| word.is(option)))
    }

    /// Returns true for a letter in a cluster of options, before the value of one.
    fn has_letter(&self, letter: char) -> bool {
        let (letters, _) = self.options_with_value();
        self.words().filter_map(Word::known).any(|text| {
            let cluster = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            cluster.and_then(|rest| rest.split(letters).next()).is_some_and(|rest| rest.contains(letter))
        })
    }

    fn reads_paths(&self) -> bool {
        let reads = |text: &str| text.starts_with("--pathspec-from-file");
        self.args.iter().filter_map(Word::known).any(reads)
    }
}

/// Returns the directory of the repository that contains a directory.
fn toplevel(base: &Path) -> Option<PathBuf> {
    let base = base.canonicalize().ok()?;
    base.ancestors().find(|above| above.join(".git").exists()).map(Path::to_owned)
}
