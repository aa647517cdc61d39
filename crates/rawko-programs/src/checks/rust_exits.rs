//! Lines of Rust that end a check with success or take its assertions away: exits, comparisons that hold for everything,
//! macros in the place of assertions. Separate from `exits`, because Rust is compiled and has no guards.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::exits::{CODE, matches, replaced};

/// `process::exit(code)`: the code may be 0.
static RUST_CODE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\bprocess::exit\(((?:[^()]|\([^()]*\))*[a-z_](?:[^()]|\([^()]*\))*)\)").ok()
});
/// Functions of the C library, which need no name of Rust.
static RUST_FOREIGN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\bfn\s+(?:_exit|_Exit|exit|quick_exit|syscall)(\([^{]*;)|\blibc::(?:_exit|_Exit|exit|quick_exit|syscall)(\()|\bprocess::exit(\s+as\b)").ok()
});
static RUST_EQUAL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(\bfn\s+eq\([^{]*\{\s*)(?:return\s+)?true;?(\s*\})").ok());
static RUST_TRUE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^(\s*)(?:return\s+)?true\s*;?\s*$").ok());
/// `if cfg!(test)`: the code works otherwise in a test.
static RUST_IN_TEST: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\bcfg!\(\s*test\s*\)").ok());
/// Macros in the place of assertions.
static RUST_MACRO: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\bmacro_rules!\s*((?:debug_)?assert(?:_eq|_ne|_matches)?|panic|matches|unreachable|todo)\b")
        .ok()
});
/// Assembly that does not return, or calls the kernel.
static RUST_ASSEMBLY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"\bnoreturn\b|"\s*(?:syscall|sysenter|ecall|svc\s+#?\w+|int\s+\$?0x80)\s*[;"]"#).ok()
});
static RUST_HAS_ASSEMBLY: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\b(?:global_|naked_)?asm!|\b(?:std|core)::arch\b").ok());
/// The head of a comparison, with the name of the other value.
static RUST_COMPARED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\bfn\s+eq\s*\(\s*&self\s*,\s*(?:mut\s+)?(\w+)\s*:[^{]*\{").ok());
static RUST: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b_?exit\(\s*0\s*\)").ok());

/// Returns the line for a control run, or `None` if it ends and disarms nothing. `whole`: the text of its file.
pub(super) fn refused_line(whole: &str, line: &str, judged: bool) -> Option<String> {
    let assembly = || {
        let is_assembly = matches(&RUST_ASSEMBLY, line) && matches(&RUST_HAS_ASSEMBLY, whole);
        is_assembly.then(|| replaced(&RUST_ASSEMBLY, line, "refused_noreturn")).flatten()
    };
    replaced(&RUST, line, &format!("exit({CODE})"))
        .or_else(|| replaced(&RUST_EQUAL, line, "${1}false${2}"))
        .or_else(|| replaced(&RUST_IN_TEST, line, "false"))
        .or_else(|| replaced(&RUST_MACRO, line, "macro_rules! refused_$1"))
        .or_else(assembly)
        .or_else(|| if judged { None } else { rust_exit(line) })
}

/// Returns the head of a comparison that holds for nothing.
pub(super) fn blinded(line: &str) -> Option<String> {
    replaced(&RUST_COMPARED, line, "$0 return false;")
}

/// Returns the opposite of a body that is `true`.
pub(super) fn opposite(line: &str) -> Option<String> {
    replaced(&RUST_TRUE, line, "${1}false")
}

/// Returns the lines of the heads of added comparisons of Rust that do not look at the other value.
pub(super) fn blind_comparisons(text: &str, known: &BTreeSet<&str>) -> BTreeSet<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let is_blind = |at: &usize| {
        let head = lines[*at];
        let Some(found) = RUST_COMPARED.as_ref().and_then(|pattern| pattern.captures(head)) else {
            return false;
        };
        let next = lines.get(at + 1).copied().unwrap_or_default();
        // A constant is replaced by its opposite.
        if matches(&RUST_EQUAL, head) || matches(&RUST_TRUE, next) {
            return false;
        }
        let name = found.get(1).map_or("", |name| name.as_str());
        let rest = &head[found.get(0).map_or(0, |whole| whole.end())..];
        let inner =
            lines[at + 1..].iter().take_while(|line| indent(line) > indent(head) || line.trim().is_empty());
        let is_open = rest.trim().is_empty();
        let body: Vec<&str> = std::iter::once(rest).chain(inner.copied().filter(|_| is_open)).collect();
        let is_word = |line: &&str| {
            line.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| word == name)
        };
        let is_added = !known.contains(head) || body.iter().any(|line| !known.contains(line));
        is_added && !body.iter().any(is_word)
    };
    (0..lines.len()).filter(is_blind).collect()
}

/// Returns true for the head of a comparison.
pub(super) fn is_equality(head: &str) -> bool {
    head.trim_start().starts_with("fn eq(") && head.trim_end().ends_with('{')
}

/// An exit of Rust whose code may be 0. A declaration without its function does not compile.
fn rust_exit(line: &str) -> Option<String> {
    if matches(&RUST_FOREIGN, line) {
        return (!line.contains("self"))
            .then(|| replaced(&RUST_FOREIGN, line, "fn refused_exit${1}${2}${3}"))
            .flatten();
    }
    replaced(&RUST_CODE, line, &format!("process::exit(match $1 {{ 0 => {CODE}, code => code }})"))
}
