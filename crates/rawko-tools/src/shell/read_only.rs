//! Read-only commands: those that Bash may run if a grant allows neither Write nor Edit. An allowlist rather than a
//! blocklist, so that an unlisted program is refused.
//!
//! Two kinds: commands that only read, with any arguments or with checked ones, and commands that only report but run
//! code that files of the project may name. The second kind needs a sandbox of the kernel, which stops writes and
//! connections; without one it is refused.

use super::options::{has_letter, may_mean};
use super::reading::Simple;
use super::tables::{EXCEPT, PIP, REPORTS, REPORTS_EXCEPT, VERSION_ASKS, VERSIONED};
use super::word::Word;
use super::writers::WRITERS;
use super::{archives, awk, git, sed};

/// Read-only with any arguments.
const ALWAYS: &[&str] = &[
    ":",
    "[",
    "arch",
    "b2sum",
    "base32",
    "base64",
    "basename",
    "basenc",
    "bc",
    "break",
    "bzcat",
    "cal",
    "cat",
    "cd",
    "cksum",
    "cmp",
    "column",
    "comm",
    "continue",
    "cut",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "env",
    "exit",
    "expand",
    "expr",
    "factor",
    "false",
    "fgrep",
    "fmt",
    "fold",
    "free",
    "getconf",
    "getent",
    "getopts",
    "grep",
    "groups",
    "head",
    "hash",
    "help",
    "hexdump",
    "hexyl",
    "id",
    "jobs",
    "join",
    "let",
    "jq",
    "locale",
    "ls",
    "lsblk",
    "lscpu",
    "mapfile",
    "md5sum",
    "more",
    "nl",
    "nproc",
    "numfmt",
    "od",
    "paste",
    "popd",
    "pr",
    "printenv",
    "printf",
    "ps",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readlink",
    "realpath",
    "return",
    "rev",
    "seq",
    "set",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "shift",
    "shopt",
    "size",
    "sleep",
    "stat",
    "strings",
    "sum",
    "tac",
    "tail",
    "test",
    "times",
    "tput",
    "tr",
    "trap",
    "true",
    "tsort",
    "tty",
    "type",
    "ulimit",
    "umask",
    "uname",
    "unexpand",
    "unset",
    "uptime",
    "uuidgen",
    "vmstat",
    "wait",
    "wc",
    "which",
    "whoami",
    "xzcat",
    "zcat",
    "zgrep",
    "zipinfo",
    "zstdcat",
    "export",
    "local",
    "declare",
    "typeset",
    "readonly",
    "command",
    "xargs",
    "timeout",
    "nice",
    "nohup",
    "stdbuf",
    "ionice",
    "setsid",
];

/// How a command is known to be read-only.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Safety {
    Reads,
    /// Only with a sandbox of the kernel, for this reason.
    WithKernel(String),
    /// It may write. Under a read-only grant the kernel does not let it; under another it runs as any command.
    Confined(String),
    Writes(String),
}

/// Returns the reason why a command may change something; `None` if it is read-only.
pub(super) fn objection(simple: &Simple) -> Option<String> {
    match safety(simple) {
        Safety::Reads | Safety::WithKernel(_) => None,
        Safety::Confined(why) | Safety::Writes(why) => Some(why),
    }
}

/// Returns the reason why a command is refused even if the kernel lets it write nothing: that is its purpose.
pub(super) fn purpose(simple: &Simple) -> Option<String> {
    match safety(simple) {
        Safety::Reads | Safety::WithKernel(_) | Safety::Confined(_) => None,
        Safety::Writes(why) => Some(why),
    }
}

/// Returns the reason why a read-only command must not run without a sandbox of the kernel.
pub(super) fn needs_kernel(simple: &Simple) -> Option<String> {
    match safety(simple) {
        Safety::WithKernel(why) | Safety::Confined(why) => Some(why),
        Safety::Reads | Safety::Writes(_) => None,
    }
}

fn safety(simple: &Simple) -> Safety {
    let (name, args) = (simple.name(), simple.args());
    if ALWAYS.contains(&name) || is_version_query(name, args) {
        return Safety::Reads;
    }
    if let Some(safety) = reports(name, args) {
        return safety;
    }
    let check: &dyn Fn(&[Word]) -> Option<String> = match name {
        "git" => &git::objection,
        "find" => &find,
        "sed" => &sed::objection,
        "awk" | "gawk" | "mawk" | "nawk" => &awk::objection,
        "tee" => &tee,
        "uniq" => &uniq,
        "hostname" => &hostname,
        "stty" => &stty,
        "fd" | "fdfind" => &fd,
        "tar" | "bsdtar" => &archives::tar,
        "unzip" => &archives::unzip,
        "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "zstd" | "unzstd" => &archives::compressor,
        "ar" => &archives::ar,
        "xxd" => &archives::xxd,
        "pdftotext" => &archives::pdftotext,
        _ => match EXCEPT.iter().find(|(program, ..)| *program == name) {
            Some((program, letters, longs)) => &|args: &[Word]| except(program, letters, longs, args),
            None => return unlisted(name, args),
        },
    };
    match check(args) {
        // An interpreter of its own kind: the kernel decides about programs in files.
        Some(why) if name.ends_with("awk") && args.iter().any(|word| word.is("-f")) => Safety::Confined(why),
        Some(why) => Safety::Writes(why),
        None if name.ends_with("awk") && !awk::runs(args).is_empty() => {
            Safety::WithKernel("an awk program runs commands".to_owned())
        }
        None if unsure(args).is_some() => {
            let word = unsure(args).map(|word| word.shown.clone()).unwrap_or_default();
            Safety::WithKernel(format!("`{word}` may become an option of `{name}` that writes"))
        }
        None if name == "git" => git::needs_kernel(args).map_or(Safety::Reads, Safety::WithKernel),
        None => Safety::Reads,
    }
}

/// Judges a program that no table of reading programs lists.
fn unlisted(name: &str, args: &[Word]) -> Safety {
    let last = name.rsplit('/').next().unwrap_or(name);
    let is_builtin_query = match name {
        "alias" | "complete" | "enable" | "bind" => {
            args.is_empty() || matches!(args, [only] if only.is("-p"))
        }
        "fc" => args.first().is_some_and(|word| word.is("-l")),
        _ => false,
    };
    if is_builtin_query {
        return Safety::Reads;
    }
    if WRITERS.contains(&last) {
        return Safety::Writes(format!("`{name}` is not known to change nothing"));
    }
    if name.is_empty() || name.starts_with('-') {
        return Safety::Writes("a command that is only known then".to_owned());
    }
    Safety::Confined(format!("`{name}` may change something"))
}

/// Returns the first word that may turn out to be an option.
fn unsure(args: &[Word]) -> Option<&Word> {
    args.iter().take_while(|word| !word.is("--")).find(|word| word.known().is_none() && word.may_be_option())
}

fn is_version_query(name: &str, args: &[Word]) -> bool {
    let asks = |word: &Word| {
        ["--version", "-V", "-v", "version", "-version", "--help", "-h"].iter().any(|ask| word.is(ask))
    };
    let is_asked =
        matches!(args, [only] if asks(only) && !(only.is("version") && VERSION_ASKS.contains(&name)));
    let is_client = name == "kubectl" && matches!(args, [a, b] if a.is("version") && b.is("--client"));
    VERSIONED.contains(&name) && (is_asked || is_client)
}

/// Checks the commands of larger programs that only report.
fn reports(name: &str, args: &[Word]) -> Option<Safety> {
    let texts: Option<Vec<&str>> = args.iter().map(Word::known).collect();
    let texts = texts?;
    let because = || {
        let why = format!("`{name}` may run code that files of the project name");
        Safety::WithKernel(why)
    };
    let (name, texts) = match (name, texts.as_slice()) {
        ("python" | "python3", ["-m", "json.tool", rest @ ..]) => {
            // The second file is written.
            let files = rest.iter().filter(|arg| !arg.starts_with('-')).count();
            return (files <= 1).then(because);
        }
        ("python" | "python3", ["-m", "pip", rest @ ..]) => ("pip", rest.to_vec()),
        ("make" | "gmake", args) => return make(args).then(because),
        // Checks formatting, wherever the option stands.
        ("cargo", ["fmt", rest @ ..]) if rest.contains(&"--check") => ("cargo", vec!["fmt", "--check"]),
        ("cargo", [first, rest @ ..]) if first.starts_with('+') => ("cargo", rest.to_vec()),
        _ => (name, texts),
    };
    let (_, commands) = REPORTS.iter().find(|(program, _)| *program == name)?;
    let commands = if name == "pip" { PIP } else { commands };
    let line = texts.join(" ");
    let is_listed = |command: &str| {
        command.is_empty() || line == command || line.starts_with(&format!("{command} ")) || {
            command.starts_with('-') && line.starts_with(&format!("{command}="))
        }
    };
    commands.iter().find(|command| is_listed(command))?;
    let except =
        REPORTS_EXCEPT.iter().find(|(program, _)| *program == name).map_or(&[][..], |(_, list)| list);
    let is_except =
        |text: &&str| except.iter().any(|option| text == option || text.starts_with(&format!("{option}=")));
    match texts.iter().find(|text| is_except(text)) {
        Some(text) => Some(Safety::Writes(format!("`{name} {text}` can change something"))),
        None => Some(because()),
    }
}

/// Accepts `make` that only prints what it would do.
fn make(args: &[&str]) -> bool {
    let is_dry = |arg: &&str| {
        ["--dry-run", "--just-print", "--recon", "--question"].contains(arg)
            || has_letter(arg, 'n')
            || has_letter(arg, 'q')
    };
    let is_bad = |arg: &&str| arg.contains('=') || arg.starts_with("--eval") || has_letter(arg, 'E');
    args.iter().any(is_dry) && !args.iter().any(is_bad)
}

fn except(name: &str, letters: &str, longs: &[&str], args: &[Word]) -> Option<String> {
    if name == "date" {
        let is_time = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
        // `-d` and `-f` take the next word.
        let sets = args.iter().enumerate().any(|(at, word)| {
            let is_value =
                at > 0 && args[at - 1].known().is_some_and(|before| ["-d", "-f", "-r"].contains(&before));
            word.known().is_some_and(is_time) && !is_value
        });
        if sets {
            return Some("`date` sets the time".to_owned());
        }
    }
    let writes = |text: &str| {
        letters.chars().any(|letter| has_letter(text, letter))
            || longs.iter().any(|long| text == *long || (text.starts_with("--") && may_mean(text, long)))
    };
    any(args, name, writes)
}

/// Describes the first argument that satisfies `is_writing`.
pub(super) fn any(args: &[Word], of: &str, is_writing: impl Fn(&str) -> bool) -> Option<String> {
    let texts = args.iter().filter_map(Word::known);
    texts
        .take_while(|text| *text != "--")
        .find(|text| is_writing(text))
        .map(|text| format!("`{of} {text}` can change something"))
}

fn find(args: &[Word]) -> Option<String> {
    // The command of `-exec` is checked separately.
    any(args, "find", |text| {
        ["-delete", "-fls"].contains(&text)
            || text.starts_with("-fprint")
            || text.starts_with("-ok")
            || text.starts_with("-files0-from")
    })
}

/// The second argument of `uniq` is an output file.
fn uniq(args: &[Word]) -> Option<String> {
    let files = args.iter().filter(|word| !word.may_be_option() || word.is("-")).count();
    (files > 1 || args.iter().any(|word| word.is("--"))).then(|| "`uniq` writes its second file".into())
}

/// `tee` to a device only prints; other files are judged as redirections are.
fn tee(args: &[Word]) -> Option<String> {
    let mut files = args.iter().filter(|word| !word.known().is_some_and(|text| text.starts_with('-')));
    let is_open = |word: &Word| super::targets::is_device(word) || super::targets::is_temporary(word);
    (!files.all(is_open)).then(|| "`tee` writes a file".into())
}

fn hostname(args: &[Word]) -> Option<String> {
    let only_asks = args
        .iter()
        .all(|word| word.known().is_some_and(|text| ["-f", "-s", "-i", "-I", "-d"].contains(&text)));
    (!only_asks).then(|| "`hostname` with an argument can change the name".into())
}

fn stty(args: &[Word]) -> Option<String> {
    let only_asks = matches!(args, [only] if only.is("size") || only.is("-a"));
    (!only_asks).then(|| "`stty` changes the terminal".into())
}

fn fd(args: &[Word]) -> Option<String> {
    any(args, "fd", |text| has_letter(text, 'x') || has_letter(text, 'X') || may_mean(text, "--exec-batch"))
}
