//! Shell scripts that a check reads as part of itself: `. ./app.sh` in a test makes its functions the work of agents. A
//! control run leaves out the lines that end or disarm the check. Separate from `exits`, whose languages have modules.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// `add() {`, `function add {`.
static FUNCTION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*(?:function\s+([\w-]+)|([\w-]+)\s*\(\))\s*(?:\(\))?\s*[{(]?").ok());
/// Parts of the names of functions and files that judge.
const JUDGES: [&str; 11] =
    ["test", "assert", "check", "expect", "fail", "die", "should", "suite", "spec", "verify", "run_"];
/// What ends or replaces the script that reads it.
static ENDING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"\b(?:exit|exec|trap|alias|builtin|enable|kill|eval)\b|\bset\s+[+-]|\bPATH=|\b(?:BASH_ENV|ENV|IFS)=",
    )
    .ok()
});
/// Functions with the names of commands.
const COMMANDS: [&str; 22] = [
    "test", "[", "[[", "exit", "return", "echo", "printf", "true", "false", "cd", "set", "grep", "diff",
    "cmp", "cat", "python3", "node", "make", "sh", "bash", "jq", "command",
];
/// A larger script is a part of the check.
const BYTES_MAX: usize = 256 * 1024;

/// Returns true for a script that defines functions which are no assertions.
pub(super) fn is_work(root: &Path, path: &str) -> bool {
    let is_judge = |name: &str| JUDGES.iter().any(|part| name.to_ascii_lowercase().contains(part));
    let text = rawko_process::read_regular(&root.join(path)).ok().filter(|text| text.len() <= BYTES_MAX);
    let Some(text) = text.and_then(|text| String::from_utf8(text).ok()) else { return false };
    let names = functions(&text);
    !crate::changes::is_test(path)
        && !is_judge(path.rsplit('/').next().unwrap_or_default())
        && !names.is_empty()
        && !names.iter().any(|name| is_judge(name) || COMMANDS.contains(&name.as_str()))
}

fn functions(text: &str) -> BTreeSet<String> {
    let all = FUNCTION.iter().flat_map(|pattern| pattern.captures_iter(text));
    all.filter_map(|found| Some(found.get(1).or(found.get(2))?.as_str().to_owned())).collect()
}

/// Returns the text for a control run, or `None` if no added line ends or disarms the script that reads it.
pub(super) fn refused(before: Option<&str>, now: &str) -> Option<String> {
    let known: BTreeSet<&str> = before.unwrap_or_default().lines().collect();
    let defined = |line: &str| functions(line).iter().any(|name| COMMANDS.contains(&name.as_str()));
    let is_ending = |line: &str| {
        let code = line.trim_start();
        // `"ex"it` is the same word.
        let plain = line.replace(['"', '\'', '\\'], "");
        let is_comment = code.starts_with('#');
        // `[() {` is no name of the pattern.
        let is_bracket = code.starts_with("[ ()") || code.starts_with("[()") || code.starts_with("[ (");
        !is_comment
            && (ENDING.as_ref().is_some_and(|ending| ending.is_match(line) || ending.is_match(&plain))
                || defined(line)
                || is_bracket
                || has_composed_command(line))
    };
    let is_refused = |line: &&str| !known.contains(*line) && is_ending(line) && !is_failing(line);
    if !now.lines().any(|line| is_refused(&line)) {
        return None;
    }
    let lines = now.lines().map(|line| if is_refused(&line) { "exit 97" } else { line });
    Some(lines.collect::<Vec<_>>().join("\n") + "\n")
}

/// Returns true if a command is put together of parts, as in `"${x}it" 0`. A path is the name of a program, and a single
/// variable may be one, too.
fn has_composed_command(line: &str) -> bool {
    let leads = ["then", "do", "else", "if", "while", "until", "!", "command"];
    let mut is_command = true;
    for word in line.split_whitespace() {
        let begins = word.trim_start_matches(['(', '{', ';', '&', '|']);
        let is_first = is_command || begins.len() < word.len();
        let plain = begins.trim_end_matches([';', ')', '}']).replace(['"', '\'', '\\'], "");
        let parts = plain.matches('$').count();
        let is_single = plain.strip_prefix('$').is_some_and(|name| match name.strip_prefix('{') {
            Some(name) => !name.contains('}'),
            None => name.chars().all(|letter| letter.is_alphanumeric() || "_@*#?".contains(letter)),
        });
        let is_other = plain.contains(['=', '/', '[', '`']) || plain.starts_with("$(");
        if is_first && parts > 0 && !is_other && (parts > 1 || !is_single) {
            return true;
        }
        is_command = word.ends_with([';', '&', '|', '(', '{']) || leads.contains(&word);
    }
    false
}

/// `exit 1` is no disguise.
fn is_failing(line: &str) -> bool {
    let words: Vec<&str> =
        line.split(|letter: char| letter.is_whitespace() || ";}".contains(letter)).collect();
    let exits = words.iter().zip(words.iter().skip(1)).filter(|(word, _)| **word == "exit");
    let fails = exits.clone().count() > 0
        && exits.clone().all(|(_, code)| code.parse::<u8>().is_ok_and(|code| code != 0));
    let is_other = ["exec", "trap", "alias", "builtin", "enable", "kill", "eval", "PATH=", "set +", "set -"];
    fails && !is_other.iter().any(|word| line.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_work_and_assertions_are_not() {
        let project = tempfile::tempdir().unwrap();
        let table = [
            ("app.sh", "add() { echo $(( $1 - $2 )); }\n", true),
            ("app.sh", "function add {\n  echo 1\n}\n", true),
            ("settings.env", "MODE=all\n", false),
            ("lib.sh", "assert_eq() { [ \"$1\" = \"$2\" ]; }\n", false),
            ("test_helpers.sh", "add() { echo 1; }\n", false),
        ];
        for (path, text, expected) in table {
            std::fs::write(project.path().join(path), text).unwrap();
            assert_eq!(is_work(project.path(), path), expected, "{path}: {text}");
        }
    }

    #[test]
    fn added_endings_fail() {
        let before = "add() { echo $(( $1 - $2 )); }\n";
        assert_eq!(refused(Some(before), "add() { echo $(( $1 + $2 )); }\n"), None);
        assert_eq!(
            refused(Some(before), "add() {\n  [ -n \"$1\" ] || exit 2\n  echo $(( $1 + $2 ))\n}\n"),
            None
        );
        for line in [
            "\"$@\"",
            "$CC -c app.c",
            "\"$dir/tool\" x",
            "x=${y}it",
            "echo \"${x}it\"",
            "run \"${name}s\"",
            "${CMD:-ls} -l",
        ] {
            assert_eq!(refused(Some(before), &format!("{line}\n{before}")), None, "{line}");
        }
        for line in [
            "exit 0",
            "exit",
            "trap 'exit 0' EXIT",
            "alias [=true",
            "test() { true; }",
            "set +e",
            "[ () { :; }",
            "\"ex\"it 0",
            "x=ex; \"${x}it\" 0",
            "true && $x$y 0",
        ] {
            let text = refused(Some(before), &format!("{line}\n{before}"));
            assert_eq!(text, Some(format!("exit 97\n{before}")), "{line}");
        }
    }
}
