//! Read-only uses of git. Git can write files, run programs and change repositories through options of commands that
//! otherwise only print, so options are checked too.

use super::options::{has_letter, leading, may_mean};
use super::word::Word;

/// Read-only commands, except with the options below.
const LOOKING: &[&str] = &[
    "annotate",
    "blame",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "check-ref-format",
    "cherry",
    "column",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "for-each-ref",
    "fsck",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "patch-id",
    "range-diff",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-branch",
    "show-index",
    "show-ref",
    "status",
    "stripspace",
    "var",
    "verify-commit",
    "verify-pack",
    "verify-tag",
    "version",
    "whatchanged",
];

/// Other commands of git; an unknown word is an alias.
const OTHERS: &[&str] = &[
    "add",
    "am",
    "apply",
    "archive",
    "backfill",
    "bisect",
    "branch",
    "bugreport",
    "bundle",
    "checkout",
    "checkout-index",
    "cherry-pick",
    "citool",
    "clean",
    "clone",
    "commit",
    "commit-graph",
    "commit-tree",
    "config",
    "credential",
    "daemon",
    "diagnose",
    "difftool",
    "fast-export",
    "fast-import",
    "fetch",
    "fetch-pack",
    "filter-branch",
    "fmt-merge-msg",
    "for-each-repo",
    "format-patch",
    "gc",
    "get-tar-commit-id",
    "gui",
    "hash-object",
    "help",
    "hook",
    "http-fetch",
    "http-push",
    "imap-send",
    "index-pack",
    "init",
    "instaweb",
    "interpret-trailers",
    "lfs",
    "ls-remote",
    "mailinfo",
    "mailsplit",
    "maintenance",
    "merge",
    "merge-file",
    "merge-index",
    "merge-tree",
    "mergetool",
    "mktag",
    "mktree",
    "multi-pack-index",
    "mv",
    "notes",
    "pack-objects",
    "pack-redundant",
    "pack-refs",
    "prune",
    "prune-packed",
    "pull",
    "push",
    "quiltimport",
    "read-tree",
    "rebase",
    "receive-pack",
    "reflog",
    "refs",
    "remote",
    "repack",
    "replace",
    "replay",
    "request-pull",
    "rerere",
    "reset",
    "restore",
    "revert",
    "rm",
    "send-email",
    "send-pack",
    "shell",
    "sparse-checkout",
    "stage",
    "stash",
    "submodule",
    "subtree",
    "svn",
    "switch",
    "symbolic-ref",
    "tag",
    "unpack-file",
    "unpack-objects",
    "update-index",
    "update-ref",
    "update-server-info",
    "upload-archive",
    "upload-pack",
    "worktree",
    "write-tree",
];

pub(super) fn is_command(name: &str) -> bool {
    LOOKING.contains(&name) || OTHERS.contains(&name)
}

/// Options that write a file or run a program.
const WRITING: [&str; 9] = [
    "--output",
    "--ext-diff",
    "--open-files-in-pager",
    "--textconv",
    "--filters",
    "--paginate",
    "--exec",
    "--upload-pack",
    "--lost-found",
];

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

const HARMLESS: [&str; 9] = [
    "-C",
    "--no-pager",
    "-P",
    "--no-optional-locks",
    "--literal-pathspecs",
    "--no-replace-objects",
    "--version",
    "-v",
    "--help",
];

pub(super) fn objection(args: &[Word]) -> Option<String> {
    let options = match leading(args, &VALUE_OPTIONS) {
        Ok(options) => options,
        Err(word) => return Some(format!("`git {}` may be anything", word.shown)),
    };
    if let Some((name, _)) = options.named.iter().find(|(name, _)| !HARMLESS.contains(&name.as_str())) {
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

/// Returns the reason why a read-only use of git needs a sandbox: another repository's configuration can run programs.
pub(super) fn needs_kernel(args: &[Word]) -> Option<String> {
    let options = leading(args, &VALUE_OPTIONS).ok()?;
    let is_elsewhere =
        |(name, value): &(String, Option<&Word>)| name == "-C" && !value.is_some_and(|at| at.is("."));
    let is_help = options.rest.first().is_some_and(|command| command.is("help"));
    match (options.named.iter().any(is_elsewhere), is_help) {
        (true, _) => Some("`git -C` uses the configuration of another repository".to_owned()),
        (_, true) => Some("`git help` runs a program to show a page".to_owned()),
        (false, false) => None,
    }
}

/// Returns true if a command that can list or change is used to list.
fn only_lists(command: &str, args: &[&str]) -> bool {
    let is_option = |arg: &&str| arg.starts_with('-');
    let options: Vec<&str> = args.iter().copied().filter(is_option).collect();
    let words: Vec<&str> = args.iter().copied().filter(|arg| !is_option(arg)).collect();
    let first = args.first().copied().unwrap_or_default();
    let name = |option: &str| option.split('=').next().unwrap_or(option).to_owned();
    let only = |known: &[&str]| options.iter().all(|option| known.contains(&name(option).as_str()));
    match command {
        // A name creates a branch, unless an option makes it a pattern or a commit.
        "branch" => {
            const LISTS: [&str; 12] = [
                "-l",
                "--list",
                "--contains",
                "--no-contains",
                "--merged",
                "--no-merged",
                "--points-at",
                "-a",
                "--all",
                "-r",
                "--remotes",
                "--show-current",
            ];
            const SHOWS: [&str; 14] = [
                "-v",
                "-vv",
                "-av",
                "-avv",
                "-rv",
                "-vr",
                "-va",
                "--sort",
                "--format",
                "--color",
                "--no-color",
                "--column",
                "--abbrev",
                "-i",
            ];
            let known: Vec<&str> = LISTS.iter().chain(&SHOWS).copied().collect();
            let lists = options.iter().any(|option| LISTS[..7].contains(&name(option).as_str()));
            only(&known) && (words.is_empty() || lists)
        }
        "tag" => {
            const LISTS: [&str; 7] =
                ["-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"];
            const SHOWS: [&str; 6] = ["--sort", "--format", "--column", "--color", "-i", "--ignore-case"];
            let known: Vec<&str> = LISTS.iter().chain(&SHOWS).copied().collect();
            let lists = options.iter().any(|option| LISTS.contains(&name(option).as_str()));
            let is_lines = |option: &&str| {
                option.strip_prefix("-n").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
            };
            let rest: Vec<&str> = options.iter().copied().filter(|option| !is_lines(option)).collect();
            rest.iter().all(|option| known.contains(&name(option).as_str()))
                && (words.is_empty() || lists || options.len() > rest.len())
        }
        "remote" => {
            (args.is_empty() || args == ["-v"] || args == ["--verbose"])
                || matches!(args, ["get-url", _] | ["get-url", "--all", _] | ["show", "-n", _])
        }
        "stash" => ["list", "show"].contains(&first),
        "config" => config(args, &options, &words),
        "reflog" => !["expire", "delete", "drop", "write"].contains(&first),
        "worktree" => first == "list",
        "submodule" => args.is_empty() || first == "status" || first == "summary",
        "notes" => args.is_empty() || first == "list" || first == "show",
        "bisect" => first == "log",
        "apply" => {
            let shows = ["--check", "--stat", "--numstat", "--summary"];
            options.iter().any(|option| shows.contains(option)) && !options.contains(&"--apply")
        }
        "archive" => args == ["--list"] || args == ["-l"],
        "interpret-trailers" => options.contains(&"--parse") && !options.contains(&"--in-place"),
        "symbolic-ref" => words.len() == 1 && only(&["-q", "--quiet", "--short"]),
        "sparse-checkout" | "bundle" => first == "list" || first == "verify" || first == "list-heads",
        "help" => !options.iter().any(|option| ["-w", "--web", "-i", "--info"].contains(option)),
        "rerere" => ["status", "diff", "remaining"].contains(&first),
        _ => false,
    }
}

/// `git config NAME` reads; a second word is a value to set.
fn config(args: &[&str], options: &[&str], words: &[&str]) -> bool {
    const READS: [&str; 6] = ["--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l"];
    const SHOWS: [&str; 14] = [
        "--show-origin",
        "--show-scope",
        "--global",
        "--local",
        "--system",
        "--worktree",
        "-z",
        "--null",
        "--name-only",
        "--type",
        "--bool",
        "--int",
        "--path",
        "--default",
    ];
    let name = |option: &str| option.split('=').next().unwrap_or(option).to_owned();
    let is_known = |option: &&str| {
        let name = name(option);
        READS.contains(&name.as_str()) || SHOWS.contains(&name.as_str())
    };
    let reads = options.iter().any(|option| READS.contains(&name(option).as_str()));
    let verbs = ["get", "list"];
    let is_verb = args.iter().find(|arg| !arg.starts_with('-')).is_some_and(|first| verbs.contains(first));
    let has_default = options.iter().any(|option| name(option) == "--default");
    options
        .iter()
        .all(|option| is_known(option) || (is_verb && ["--all", "--regexp", "--value"].contains(option)))
        && (reads || is_verb || (words.len() == 1 && !has_default))
}
