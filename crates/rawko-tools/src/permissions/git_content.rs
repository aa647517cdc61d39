//! Files that git prints from its own storage. A rule that denies reading a file also holds for the committed content of
//! it: `git show HEAD:secret`, `git log -p`, `git archive HEAD`.

use std::path::{Path, PathBuf};

use super::paths::{PathPattern, PathSubject, Roots};
use crate::shell::{Simple, Word, git_value_options};

/// Commands that print or write committed files.
const CONTENT: &[&str] = &[
    "annotate",
    "archive",
    "blame",
    "bundle",
    "cat-file",
    "checkout",
    "checkout-index",
    "cherry-pick",
    "clone",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "fast-export",
    "format-patch",
    "grep",
    "log",
    "merge-file",
    "range-diff",
    "read-tree",
    "reflog",
    "restore",
    "show",
    "stash",
    "subtree",
    "unpack-file",
    "whatchanged",
    "worktree",
];
/// Of these, commands that do so only with an option.
const WITH_OPTION: &[&str] =
    &["log", "reflog", "stash", "worktree", "checkout", "restore", "read-tree", "grep", "cherry-pick"];
/// Options with which commands print names only.
const NAMES_ONLY: &[&str] = &[
    "--stat",
    "--shortstat",
    "--numstat",
    "--dirstat",
    "--summary",
    "--name-only",
    "--name-status",
    "--no-patch",
    "-s",
    "--raw",
    "--quiet",
    "--check",
    "--exit-code",
];

/// The committed files of a project that rules may deny.
pub(super) struct TrackedFiles(Vec<PathBuf>);

impl TrackedFiles {
    /// Reads the list if a command prints committed files.
    pub(super) fn of(commands: &[&Simple], roots: &Roots) -> Self {
        let is_any = commands.iter().any(|simple| use_of(simple).is_some());
        let files = if is_any { rawko_process::tracked_files(&roots.project) } else { Vec::new() };
        Self(files.into_iter().map(|path| roots.project.join(path)).collect())
    }

    /// Returns true if one of the commands may print a file that the pattern names.
    pub(super) fn are_shown(&self, commands: &[&Simple], pattern: &PathPattern, roots: &Roots) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let uses: Vec<GitUse> = commands.iter().filter_map(|simple| use_of(simple)).collect();
        let denied = self.0.iter().filter(|path| pattern.matches(path, roots));
        denied.into_iter().any(|path| uses.iter().any(|one| one.may_show(path, roots)))
    }
}

/// One use of git that prints committed files.
struct GitUse {
    /// `-C dir`
    directory: PathBuf,
    /// Paths that limit it; empty: everything.
    paths: Vec<String>,
    is_known: bool,
}

impl GitUse {
    fn may_show(&self, denied: &Path, roots: &Roots) -> bool {
        if !self.is_known || self.paths.is_empty() {
            return true;
        }
        self.paths.iter().any(|path| {
            let is_pattern = path.starts_with(':') || path.contains(['*', '?', '[']);
            let named = PathSubject::new(path, &self.directory, roots);
            is_pattern || denied.starts_with(&named.named) || denied.starts_with(&named.real)
        })
    }
}

fn use_of(simple: &Simple) -> Option<GitUse> {
    let by_name = simple.by_last_name();
    let name = by_name.words.first()?.known()?.to_owned();
    let mut args = simple.args();
    let mut directory = PathBuf::new();
    let command = match name.strip_prefix("git-") {
        Some(command) => command.to_owned(),
        None if name == "git" => loop {
            let (word, rest) = args.split_first()?;
            args = rest;
            let text = word.known()?;
            if git_value_options().contains(&text) {
                let (value, rest) = args.split_first()?;
                args = rest;
                if text == "-C" {
                    directory = directory.join(value.known().unwrap_or_default());
                }
            } else if !text.starts_with('-') {
                break text.to_owned();
            }
        },
        None => return None,
    };
    if !CONTENT.contains(&command.as_str()) {
        return None;
    }
    let options: Vec<&str> = args.iter().take_while(|word| !word.is("--")).filter_map(Word::known).collect();
    if WITH_OPTION.contains(&command.as_str()) && !prints(&command, &options) {
        return None;
    }
    let is_names =
        options.iter().any(|option| NAMES_ONLY.iter().any(|name| option.split('=').next() == Some(name)));
    let is_patch = options.iter().any(|option| ["-p", "-u", "--patch"].contains(option));
    if is_names && !is_patch && command != "cat-file" && command != "archive" {
        return None;
    }
    // Words after `--` are paths; before it they are commits, too.
    let after = args.iter().position(|word| word.is("--")).map(|at| &args[at + 1..]);
    let paths: Vec<&Word> = match after {
        Some(paths) => paths.iter().collect(),
        None if ["blame", "annotate", "diff"].contains(&command.as_str()) => {
            args.iter().filter(|word| word.known().is_some_and(is_path)).collect()
        }
        None => Vec::new(),
    };
    // One file of one commit is named in full, and checked by its name.
    let is_named = ["show", "cat-file"].contains(&command.as_str()) && after.is_none();
    let operands: Vec<&&str> = options.iter().filter(|option| !option.starts_with('-')).collect();
    let objects = if command == "cat-file" && operands.len() > 1 { &operands[1..] } else { &operands[..] };
    if is_named
        && !objects.is_empty()
        && objects.iter().all(|object| object.contains(':') && !object.ends_with(':'))
    {
        let paths = objects.iter().filter_map(|object| Some(object.rsplit_once(':')?.1.to_owned())).collect();
        let is_known = args.iter().all(|word| word.known().is_some());
        return Some(GitUse { directory: PathBuf::new(), paths, is_known });
    }
    let is_known = paths.iter().all(|word| word.known().is_some());
    let paths = paths.into_iter().filter_map(|word| word.known().map(str::to_owned)).collect();
    Some(GitUse { directory, paths, is_known })
}

fn is_path(text: &str) -> bool {
    !text.starts_with('-') && (text.contains('/') || text.contains('.')) && !text.contains("..")
}

/// Returns true if a command that prints committed files only with an option has it.
fn prints(command: &str, options: &[&str]) -> bool {
    let has = |names: &[&str]| {
        options.iter().any(|option| names.contains(&option.split('=').next().unwrap_or_default()))
    };
    let bundled = |letters: &[char]| {
        options
            .iter()
            .any(|option| option.starts_with('-') && !option.starts_with("--") && option.contains(letters))
    };
    match command {
        "log" | "reflog" => {
            has(&[
                "-p",
                "-u",
                "--patch",
                "-L",
                "--cc",
                "-c",
                "-m",
                "--full-diff",
                "--patch-with-stat",
                "--word-diff",
                "--color-words",
                "--binary",
                "--patch-with-raw",
                "--dd",
                "--remerge-diff",
                "-W",
                "--function-context",
            ]) || options.iter().any(|option| {
                option.starts_with("-U") || option.starts_with("--unified") || option.starts_with("-L")
            }) || bundled(&['p', 'u'])
        }
        "stash" => options.first() == Some(&"show") && (has(&["-p", "-u", "--patch"]) || bundled(&['p'])),
        "worktree" => options.first() == Some(&"add"),
        // The file comes back at its own path, where it is hidden.
        "checkout" | "restore" | "cherry-pick" => false,
        "read-tree" => has(&["--prefix"]),
        // Searches committed content instead of the files.
        "grep" => has(&["--cached"]) || options.iter().filter(|option| !option.starts_with('-')).count() > 1,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::commands_of;

    #[test]
    fn committed_files_are_shown_or_not() {
        let roots = Roots { project: "/p".into(), home: None };
        let tracked = TrackedFiles(["/p/secret/k", "/p/src/a.rs"].map(PathBuf::from).to_vec());
        let pattern = PathPattern::parse("./secret/**").unwrap();
        for (line, expected) in [
            ("git log -p -- secret", true),
            ("git log -p", true),
            ("git log -2p", true),
            ("git log -p -- src", false),
            ("git log --oneline", false),
            ("git log --stat", false),
            ("git show", true),
            ("git show HEAD~1", true),
            ("git show --stat", false),
            ("git show HEAD -- src", false),
            ("git show HEAD:secret/k", true),
            ("git show HEAD:src/a.rs", false),
            ("git cat-file -p HEAD:secret/k", true),
            ("git cat-file -p 1234", true),
            ("git archive HEAD secret", true),
            ("git archive HEAD", true),
            ("git -C src log -p -- .", false),
            ("git -C src log -p -- ..", true),
            ("git log -p -- ':(top)secret'", true),
            ("git log -p -- $x", true),
            ("git diff", true),
            ("git diff -- src", false),
            ("git diff src/a.rs", false),
            ("git diff --name-only", false),
            ("git grep -h KEY", false),
            ("git grep -h KEY HEAD", true),
            ("git grep --cached KEY", true),
            ("git worktree add w", true),
            ("git worktree list", false),
            ("git status", false),
            ("git-show HEAD", true),
            ("ls secret", false),
        ] {
            let commands = commands_of(line);
            let commands: Vec<&Simple> = commands.iter().collect();
            assert_eq!(tracked.are_shown(&commands, &pattern, &roots), expected, "{line}");
        }
    }
}
