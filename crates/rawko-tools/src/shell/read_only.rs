//! Read-only commands: those that Bash may run if a grant allows neither Write nor Edit. An allowlist rather than a
//! blocklist, so that an unlisted program is refused.

use super::git;
use super::options::{has_letter, may_mean};
use super::programs;
use super::reading::Simple;
use super::word::Word;

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
    "break",
    "bzcat",
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
    "false",
    "fgrep",
    "fmt",
    "fold",
    "free",
    "getconf",
    "grep",
    "groups",
    "head",
    "hexdump",
    "id",
    "join",
    "jq",
    "locale",
    "ls",
    "md5sum",
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
    "sleep",
    "stat",
    "strings",
    "sum",
    "tac",
    "tail",
    "test",
    "times",
    "tr",
    "trap",
    "true",
    "tsort",
    "tty",
    "type",
    "umask",
    "uname",
    "unexpand",
    "unset",
    "uptime",
    "wait",
    "wc",
    "which",
    "whoami",
    "xzcat",
    "zcat",
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

/// Programs that may print their version.
const VERSIONED: &[&str] = &[
    "bun", "cargo", "clang", "cmake", "deno", "docker", "gcc", "git", "go", "java", "javac", "make", "node",
    "npm", "npx", "perl", "php", "pip", "pip3", "pnpm", "python", "python3", "ruby", "rustc", "rustup",
    "tsc", "uv", "yarn",
];

/// Returns the reason why a command may change something; `None` if it is read-only.
pub(super) fn objection(simple: &Simple) -> Option<String> {
    let (name, args) = (simple.name(), simple.args());
    if ALWAYS.contains(&name) || is_version_query(name, args) {
        return None;
    }
    let check = match name {
        "git" => git::objection,
        "find" => find,
        "sed" => programs::sed,
        "awk" | "gawk" | "mawk" | "nawk" => programs::awk,
        "sort" => sort,
        "shuf" => shuf,
        "uniq" => uniq,
        "tree" => tree,
        "file" => file,
        "date" => date,
        "hostname" => hostname,
        "rg" => rg,
        "fd" | "fdfind" => fd,
        _ => return Some(format!("`{name}` is not known to change nothing")),
    };
    // A word that may be an option could be the one that writes.
    let unsure =
        args.iter().take_while(|word| !word.is("--")).find(|w| w.known().is_none() && w.may_be_option());
    match unsure {
        Some(word) => Some(format!("`{}` may become an option of `{name}` that writes", word.shown)),
        None => check(args),
    }
}

fn is_version_query(name: &str, args: &[Word]) -> bool {
    let asks = |word: &Word| ["--version", "-V", "-v", "version", "-version"].iter().any(|ask| word.is(ask));
    VERSIONED.contains(&name) && matches!(args, [only] if asks(only))
}

/// Describes the first argument that satisfies `is_writing`.
fn any(args: &[Word], of: &str, is_writing: impl Fn(&str) -> bool) -> Option<String> {
    let texts = args.iter().filter_map(Word::known);
    texts
        .take_while(|text| *text != "--")
        .find(|text| is_writing(text))
        .map(|text| format!("`{of} {text}` can change something"))
}

fn find(args: &[Word]) -> Option<String> {
    // The command of `-exec` is checked separately.
    any(args, "find", |text| {
        ["-delete", "-fls"].contains(&text) || text.starts_with("-fprint") || text.starts_with("-ok")
    })
}

fn sort(args: &[Word]) -> Option<String> {
    any(args, "sort", |text| {
        has_letter(text, 'o') || may_mean(text, "--output") || may_mean(text, "--compress-program")
    })
}

fn shuf(args: &[Word]) -> Option<String> {
    any(args, "shuf", |text| has_letter(text, 'o') || may_mean(text, "--output"))
}

/// The second argument of `uniq` is an output file.
fn uniq(args: &[Word]) -> Option<String> {
    let files = args.iter().filter(|word| !word.may_be_option() || word.is("-")).count();
    (files > 1 || args.iter().any(|word| word.is("--"))).then(|| "`uniq` writes its second file".into())
}

fn tree(args: &[Word]) -> Option<String> {
    any(args, "tree", |text| has_letter(text, 'o') || has_letter(text, 'R') || may_mean(text, "--output"))
}

fn file(args: &[Word]) -> Option<String> {
    any(args, "file", |text| has_letter(text, 'C') || may_mean(text, "--compile"))
}

fn date(args: &[Word]) -> Option<String> {
    any(args, "date", |text| {
        has_letter(text, 's')
            || may_mean(text, "--set")
            || text.starts_with(|first: char| first.is_ascii_digit())
    })
}

fn hostname(args: &[Word]) -> Option<String> {
    (!args.is_empty()).then(|| "`hostname` with an argument can change the name".into())
}

fn rg(args: &[Word]) -> Option<String> {
    any(args, "rg", |text| text.starts_with("--pre") || text.starts_with("--hostname-bin"))
}

fn fd(args: &[Word]) -> Option<String> {
    any(args, "fd", |text| has_letter(text, 'x') || has_letter(text, 'X') || may_mean(text, "--exec-batch"))
}
