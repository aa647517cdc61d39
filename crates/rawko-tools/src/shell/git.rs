//! Read-only uses of git. Git can write files, run programs and change repositories through options of commands that
//! otherwise only print, so options are checked too.

use super::options::{has_letter, leading, may_mean};
use super::word::Word;

/// Read-only commands, except with the options below.
const LOOKING: [&str; 27] = [
    "annotate",
    "blame",
    "cat-file",
    "check-attr",
    "check-ignore",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "for-each-ref",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "range-diff",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-branch",
    "show-ref",
    "status",
    "whatchanged",
];

/// Options that write a file or run a program.
const WRITING: [&str; 6] =
    ["--output", "--ext-diff", "--open-files-in-pager", "--textconv", "--filters", "--paginate"];

/// Options before the command that take the next word.
pub(super) const VALUE_OPTIONS: [&str; 9] = [
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
    "--super-prefix",
    "--config-env",
    "--attr-source",
];

pub(super) fn objection(args: &[Word]) -> Option<String> {
    let options = match leading(args, &["-C"]) {
        Ok(options) => options,
        Err(word) => return Some(format!("`git {}` may be anything", word.shown)),
    };
    let harmless = ["-C", "--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--version"];
    if let Some((name, _)) = options.named.iter().find(|(name, _)| !harmless.contains(&name.as_str())) {
        return Some(format!("`git {name}` can change what git does"));
    }
    let (command, rest) = options.rest.split_first()?;
    let Some(command) = command.known() else {
        return Some(format!("`git {}` may be anything", command.shown));
    };
    let texts: Vec<&str> = rest.iter().take_while(|word| !word.is("--")).map(Word::text).collect();
    let is_looking = match command {
        "grep" => !texts.iter().any(|text| has_letter(text, 'O')),
        _ if LOOKING.contains(&command) => true,
        _ => only_lists(command, &texts),
    };
    let writing = texts.iter().find(|text| WRITING.iter().any(|long| text.len() > 3 && may_mean(text, long)));
    match writing {
        Some(option) => Some(format!("`git {command} {option}` can change something")),
        None => (!is_looking).then(|| format!("`git {command}` is not known to change nothing")),
    }
}

/// Returns true if a command that can list or change is used to list.
fn only_lists(command: &str, args: &[&str]) -> bool {
    let only = |known: &[&str]| args.iter().all(|arg| known.contains(arg));
    match command {
        "branch" => only(&[
            "-a",
            "-r",
            "-v",
            "-vv",
            "-av",
            "-avv",
            "--all",
            "--remotes",
            "--list",
            "-l",
            "--show-current",
        ]),
        "tag" => match args.split_first() {
            Some((first, rest)) => {
                ["-l", "--list"].contains(first) && rest.iter().all(|arg| !arg.starts_with('-'))
            }
            None => true,
        },
        "remote" => only(&["-v"]) || matches!(args, ["get-url", _] | ["show", "-n", _]),
        "stash" => args.first().is_some_and(|first| ["list", "show"].contains(first)),
        "config" => args
            .first()
            .is_some_and(|first| ["--get", "--get-all", "--list", "-l", "get", "list"].contains(first)),
        "reflog" => args.first().is_none_or(|first| *first == "show" || first.starts_with("HEAD")),
        "worktree" => args == ["list"],
        "submodule" => args == ["status"],
        "version" => true,
        _ => false,
    }
}
