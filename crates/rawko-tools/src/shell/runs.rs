//! Programs that run text of their arguments although they are no wrappers: `tar --to-command`, `git -c alias`, `awk`
//! with `system`, interpreters. The text is read where it is one of a shell; where it is not, the command is opaque: rules
//! that deny, ask or block apply to it, because nothing shows what it runs.

use super::code::{self, ScriptLanguage};
use super::options::may_mean;
use super::reading::Simple;
use super::word::Word;
use super::wrappers::WrappedCommand;
use super::{awk, runs_git, sed};

/// A short letter, or none, and the long name.
type RunOptions = &'static [(Option<char>, &'static str)];

/// Options whose value is run: short letter (or none) and long name. A name with one dash stands for itself.
const OPTIONS: &[(&str, RunOptions)] = &[
    ("ack", &[(None, "--pager")]),
    ("ag", &[(None, "--pager")]),
    ("bat", &[(None, "--pager")]),
    ("batcat", &[(None, "--pager")]),
    ("bsdtar", TAR),
    ("cc", &[(None, "-wrapper")]),
    ("clang", &[(None, "-wrapper")]),
    ("cpio", &[(None, "--rsh-command")]),
    ("dpkg", &[(None, "--pre-invoke"), (None, "--post-invoke")]),
    ("fzf", &[(None, "--preview"), (None, "--bind")]),
    ("g++", &[(None, "-wrapper")]),
    ("gcc", &[(None, "-wrapper")]),
    ("go", &[(None, "-toolexec"), (None, "-exec"), (None, "-vettool")]),
    ("gpg", &[(None, "--photo-viewer"), (None, "--exec-path")]),
    ("gtar", TAR),
    ("install", &[(None, "--strip-program")]),
    ("just", &[(Some('c'), "--command"), (None, "--shell")]),
    ("man", &[(Some('P'), "--pager"), (Some('H'), "--html")]),
    ("nc", NETCAT),
    ("ncat", NETCAT),
    ("netcat", NETCAT),
    ("npm", &[(None, "--script-shell")]),
    ("pandoc", &[(Some('F'), "--filter"), (Some('L'), "--lua-filter"), (None, "--pdf-engine")]),
    ("rg", &[(None, "--pre"), (None, "--hostname-bin")]),
    ("rsync", &[(Some('e'), "--rsh"), (None, "--rsync-path")]),
    ("scp", &[(Some('S'), "-S"), (None, "-D")]),
    ("sftp", &[(Some('S'), "-S"), (None, "-D")]),
    ("sort", &[(None, "--compress-program")]),
    ("split", &[(None, "--filter")]),
    ("tar", TAR),
    ("tcpdump", &[(Some('z'), "-z")]),
    ("wget", &[(None, "--use-askpass")]),
    ("zip", &[(None, "-TT"), (None, "--unzip-command")]),
];
const TAR: RunOptions = &[
    (Some('I'), "--use-compress-program"),
    (Some('F'), "--info-script"),
    (None, "--new-volume-script"),
    (None, "--to-command"),
    (None, "--rsh-command"),
    (None, "--rmt-command"),
    (None, "--checkpoint-action"),
];
const NETCAT: RunOptions = &[(Some('e'), "--exec"), (Some('c'), "--sh-exec"), (None, "--lua-exec")];

/// Programs whose files, keys or input decide what they run.
const OPAQUE: &[&str] = &[
    "at",
    "batch",
    "crontab",
    "ed",
    "emacs",
    "emacsclient",
    "ex",
    "gvim",
    "kak",
    "logrotate",
    "nvim",
    "red",
    "rvim",
    "rview",
    "vi",
    "view",
    "vim",
    "vimdiff",
];

/// Shells that are not read here, and languages without a list of words that start programs.
const LANGUAGES_UNREAD: &[&str] = &[
    "csh", "dc", "elvish", "erl", "expect", "fish", "gnuplot", "guile", "iex", "irb", "julia", "jshell",
    "lldb", "m4", "mysql", "nu", "ocaml", "octave", "psql", "pwsh", "racket", "Rscript", "R", "sbcl",
    "tclsh", "tcsh", "wish", "xonsh", "yash",
];

/// Returns what a command runs by its arguments or by its input. `fed` is a text on the line that is its input.
pub(super) fn runs(simple: &Simple, fed: Option<&str>) -> Vec<WrappedCommand> {
    let simple = simple.by_last_name();
    let Some(name) = simple.words.first().and_then(Word::known) else { return Vec::new() };
    let args = simple.args();
    if let Some(command) = name.strip_prefix("git-") {
        let words: Vec<Word> = std::iter::once(Word::of_text(command)).chain(args.iter().cloned()).collect();
        return runs_git::runs(&words);
    }
    let mut found = Vec::new();
    if let Some((_, options)) = OPTIONS.iter().find(|(program, _)| *program == name) {
        found.extend(values(name, args, options));
    }
    match name {
        "bun" if args.first().is_some_and(|word| word.is("exec")) => found.extend(line_of(name, args.get(1))),
        "git" => found.extend(runs_git::runs(args)),
        "ssh" | "scp" | "sftp" | "sshfs" => found.extend(ssh(name, args)),
        "sed" | "gsed" => found.extend(sed::runs(args)),
        "awk" | "gawk" | "mawk" | "nawk" => found.extend(awk::runs(args)),
        "make" | "gmake" | "bmake" => found.extend(make(args)),
        "cargo" => found.extend(cargo(args)),
        "less" | "more"
            if args.iter().any(|word| word.prefix.starts_with('+') && word.prefix.contains(['!', '|'])) =>
        {
            found.push(opaque(name, "runs a command of its own"));
        }
        "socat" => found.extend(socat(args)),
        "cmake" => {
            let at = args.iter().position(|word| word.is("-E"));
            found.extend(
                at.map(|at| WrappedCommand::Command(args[at + 1..].to_vec())).filter(|_| args.len() > 1),
            );
        }
        "sqlite3" | "sqlite" | "duckdb" => found.extend(sqlite(name, args, fed)),
        _ if OPAQUE.contains(&name) => found.push(opaque(name, "runs commands of its input or its files")),
        _ if LANGUAGES_UNREAD.contains(&name) => found.extend(unread(name, args)),
        _ => {
            if let Some(language) = ScriptLanguage::of_program(name) {
                found.extend(interpreter(name, language, args, fed));
            }
        }
    }
    found
}

/// Returns true for programs with options that run something.
pub(super) fn by_option(simple: &Simple) -> bool {
    const OTHERS: [&str; 12] =
        ["awk", "cargo", "find", "gawk", "git", "make", "mawk", "sed", "socat", "ssh", "tar", "xargs"];
    let simple = simple.by_last_name();
    let name = simple.words.first().and_then(Word::known).unwrap_or_default();
    OTHERS.contains(&name)
        || OPTIONS.iter().any(|(program, _)| *program == name)
        || ScriptLanguage::of_program(name).is_some()
}

pub(super) fn opaque(name: &str, why: &str) -> WrappedCommand {
    WrappedCommand::Unknowable(format!("`{name}` {why}"))
}

/// Returns a text that a shell runs, or the reason why it is not known.
pub(super) fn line_of(name: &str, value: Option<&Word>) -> Option<WrappedCommand> {
    let value = value?;
    Some(match value.known() {
        Some(text) => WrappedCommand::Line(text.to_owned()),
        None => opaque(name, &format!("runs `{}`, which is not known before it runs", value.shown)),
    })
}

/// Returns the values of options, as text that is run.
fn values(name: &str, args: &[Word], options: RunOptions) -> Vec<WrappedCommand> {
    let mut found = Vec::new();
    for (at, word) in args.iter().enumerate() {
        let text = word.prefix.as_str();
        let next = || args.get(at + 1);
        for (letter, long) in options {
            let is_long = match long.starts_with("--") {
                true => may_mean(text, long),
                false => text == *long || text.strip_prefix(*long).is_some_and(|rest| rest.starts_with('=')),
            };
            if is_long {
                found.extend(match (word.known(), text.split_once('=')) {
                    (Some(_), Some((_, value))) => Some(WrappedCommand::Line(action(value))),
                    (Some(_), None) => line_of(name, next()),
                    (None, _) => Some(opaque(name, &format!("runs `{}`", word.shown))),
                });
            } else if let Some(letter) = letter
                && let Some((_, attached)) = text
                    .strip_prefix('-')
                    .filter(|rest| !rest.starts_with('-'))
                    .and_then(|rest| rest.split_once(*letter))
            {
                found.extend(match (word.known(), attached.is_empty()) {
                    (Some(_), true) => line_of(name, next()),
                    (Some(_), false) => Some(WrappedCommand::Line(attached.to_owned())),
                    (None, _) => Some(opaque(name, &format!("runs `{}`", word.shown))),
                });
            }
        }
        // The first word of `tar` may be a bundle without a dash.
        if at == 0 && name == "tar" && !text.starts_with('-') && text.contains(['I', 'F']) && text.len() < 9 {
            found.extend(args.iter().skip(1).filter_map(|word| line_of(name, Some(word))));
        }
    }
    found
}

/// `exec=CMD` of `tar --checkpoint-action`.
fn action(value: &str) -> String {
    value.strip_prefix("exec=").unwrap_or(value).to_owned()
}

/// `-o ProxyCommand=…`, `-F file`.
fn ssh(name: &str, args: &[Word]) -> Vec<WrappedCommand> {
    let mut found = Vec::new();
    for (at, word) in args.iter().enumerate() {
        let option = match word.prefix.as_str() {
            "-o" => args.get(at + 1),
            "-F" => {
                found.push(opaque(name, "is configured by a file"));
                None
            }
            text if text.starts_with("-o") || text.starts_with("-F") => Some(word),
            _ => None,
        };
        let Some(option) = option else { continue };
        let Some(text) = option.known() else {
            found.push(opaque(name, &format!("is given the option `{}`", option.shown)));
            continue;
        };
        let text = text.strip_prefix("-o").unwrap_or(text);
        let (key, value) = text.split_once(['=', ' ']).unwrap_or((text, ""));
        let key = key.trim().to_ascii_lowercase();
        if key.ends_with("command") && key != "remotecommand" || key == "ssh_command" {
            found.push(WrappedCommand::Line(value.trim().to_owned()));
        } else if ["remotecommand", "include", "match", "pkcs11provider", "securitykeyprovider"]
            .contains(&key.as_str())
        {
            found.push(opaque(name, &format!("is given the option `{key}`")));
        }
    }
    found
}

fn socat(args: &[Word]) -> Vec<WrappedCommand> {
    let mut found = Vec::new();
    for word in args {
        let upper = word.prefix.to_ascii_uppercase();
        if let Some(at) =
            ["EXEC:", "SYSTEM:", "SHELL:"].iter().find_map(|kind| Some(upper.find(kind)? + kind.len()))
        {
            found.push(match word.known() {
                Some(text) => {
                    WrappedCommand::Line(text[at..].split(',').next().unwrap_or_default().to_owned())
                }
                None => opaque("socat", &format!("runs `{}`", word.shown)),
            });
        }
    }
    found
}

/// A makefile from the line itself, and variables that `make` expands.
fn make(args: &[Word]) -> Vec<WrappedCommand> {
    let mut found = Vec::new();
    for (at, word) in args.iter().enumerate() {
        let text = word.prefix.as_str();
        let value = match text {
            "-f" | "--file" | "--makefile" => args.get(at + 1),
            _ if text.starts_with("-f") || text.starts_with("--file=") || text.starts_with("--makefile=") => {
                Some(word)
            }
            _ => None,
        };
        let is_fed = |value: &Word| {
            let path = value
                .prefix
                .trim_start_matches("-f")
                .trim_start_matches("--file=")
                .trim_start_matches("--makefile=");
            path == "-"
                || path.starts_with("/dev/")
                || path.starts_with("/proc/")
                || value.known().is_none()
                || value.is("-f-")
        };
        if value.is_some_and(is_fed) {
            found.push(opaque("make", "runs what it is fed"));
        } else if may_mean(text, "--eval") || text.starts_with("-E") {
            found.push(opaque("make", "runs text of its arguments"));
        } else if let Some((name, value)) = text.split_once('=').filter(|_| !text.starts_with('-')) {
            match (name.trim_end_matches([':', '?', '+', '!']), word.known()) {
                ("SHELL" | ".SHELLFLAGS" | "MAKE" | "MAKEFLAGS" | "MAKEFILES", _) => {
                    found.push(opaque("make", &format!("is given `{name}`")));
                }
                (_, Some(_)) if value.contains(['$', '`', '!']) => {
                    found.push(opaque("make", &format!("expands `{}`", word.shown)));
                }
                // A variable such as CC may be a command.
                (_, Some(_))
                    if !value.contains('/')
                        || value.contains(' ')
                        || std::path::Path::new(value).is_file() =>
                {
                    found.push(WrappedCommand::Line(value.to_owned()));
                }
                (_, _) => {}
            }
        }
    }
    found
}

fn cargo(args: &[Word]) -> Vec<WrappedCommand> {
    let is_config = |(at, word): &(usize, &Word)| {
        may_mean(&word.prefix, "--config") || (*at > 0 && may_mean(&args[*at - 1].prefix, "--config"))
    };
    const STARTS: [&str; 9] =
        ["alias", "browser", "credential", "include", "linker", "runner", "rustc", "rustdoc", "wrapper"];
    let mut found = Vec::new();
    for (_, word) in args.iter().enumerate().filter(is_config) {
        let is_file = !word.prefix.contains('=') && !may_mean(&word.prefix, "--config");
        if word.known().is_none() || is_file || STARTS.iter().any(|start| word.prefix.contains(start)) {
            found.push(opaque("cargo", &format!("is configured by `{}`", word.shown)));
        }
    }
    found
}

/// Dot commands of the shell of a database can run programs.
fn sqlite(name: &str, args: &[Word], fed: Option<&str>) -> Vec<WrappedCommand> {
    let is_bad = |text: &str| {
        let lower = text.to_ascii_lowercase();
        lower.lines().flat_map(|line| line.split(';')).any(|part| part.trim_start().starts_with('.'))
            || ["load_extension", "edit(", "edit ("].iter().any(|word| lower.contains(word))
    };
    let bad = args.iter().find(|word| match word.known() {
        Some("-init" | "--init" | "-batch-file") => true,
        Some(text) => {
            is_bad(text) && !std::path::Path::new(text).exists() && text.contains(char::is_whitespace)
        }
        None => word.splits,
    });
    let has_query = args.iter().filter(|word| !word.prefix.starts_with('-')).count() > 1;
    match (bad, fed) {
        (Some(word), _) => vec![opaque(name, &format!("may run a program: `{}`", word.shown))],
        (None, Some(text)) if is_bad(text) => vec![opaque(name, "may run a program")],
        (None, None) if !has_query && !args.is_empty() => vec![opaque(name, "runs what it is fed")],
        (None, _) => Vec::new(),
    }
}

/// A language without a reader: a file alone is a program of the project; text on the line is not known.
fn unread(name: &str, args: &[Word]) -> Vec<WrappedCommand> {
    let is_plain_file = matches!(args.first(), Some(first) if first.known().is_some_and(|text| !text.starts_with('-')
        && !text.starts_with("/dev/") && !text.contains(char::is_whitespace)));
    let is_query =
        matches!(args, [only] if ["--version", "-V", "-v", "--help"].iter().any(|ask| only.is(ask)));
    if is_plain_file || is_query { Vec::new() } else { vec![opaque(name, "runs text that is not read here")] }
}

/// Text of an interpreter: after `-c` or `-e`, or its input.
fn interpreter(
    name: &str,
    language: ScriptLanguage,
    args: &[Word],
    fed: Option<&str>,
) -> Vec<WrappedCommand> {
    let mut found = Vec::new();
    let check = |text: &str| {
        let starts = code::starts_programs(language, text)?;
        Some(opaque(name, &format!("runs a text that may start programs (`{starts}`)")))
    };
    match code::source(language, args) {
        code::ScriptSource::Texts(texts) => {
            for text in texts {
                found.extend(match text {
                    Some(text) => check(&text),
                    None => Some(opaque(name, "runs a text that is only known then")),
                });
            }
        }
        code::ScriptSource::Input => found.extend(match fed {
            Some(text) => check(text),
            None => Some(opaque(name, "runs what it is fed")),
        }),
        code::ScriptSource::File(word) if word.known().is_none() && word.may_be_option() => {
            found.push(opaque(name, &format!("is given `{}`", word.shown)));
        }
        code::ScriptSource::File(word)
            if word.prefix.starts_with("/dev/") || word.prefix.starts_with("/proc/") =>
        {
            found.push(opaque(name, "runs what it is fed"));
        }
        code::ScriptSource::File(_) | code::ScriptSource::Nothing => {}
    }
    // Perl opens `command |` as a file, also that of an argument.
    if language == ScriptLanguage::Perl {
        let piped = args.iter().filter_map(Word::known).filter_map(|text| text.trim_end().strip_suffix('|'));
        found.extend(piped.map(|text| WrappedCommand::Line(text.to_owned())));
    }
    found
}
