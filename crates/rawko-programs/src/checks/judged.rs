//! Operands that a command only reads: the program judges them, so they are the work of agents, not what judges it. Separate
//! from the files that a command runs.

use super::influence;

/// Linters, formatters and compilers, and programs that search or print a file.
const JUDGES: [&str; 52] = [
    "ruff",
    "black",
    "flake8",
    "mypy",
    "pyright",
    "pylint",
    "isort",
    "py_compile",
    "compileall",
    "json.tool",
    "doctest",
    "eslint",
    "prettier",
    "tsc",
    "biome",
    "gofmt",
    "rustfmt",
    "rustc",
    "javac",
    "kotlinc",
    "scalac",
    "swiftc",
    "ghc",
    "clang++",
    "perlcritic",
    "luacheck",
    "gcc",
    "cc",
    "clang",
    "g++",
    "shellcheck",
    "clang-format",
    "markdownlint",
    "yamllint",
    "xmllint",
    "jsonlint",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "test",
    "[",
    "[[",
    "cat",
    "head",
    "tail",
    "wc",
    "jq",
    "yq",
    "cut",
    "stat",
    "ls",
];
/// Those with an option `-f` for a file of patterns.
const SEARCHERS: [&str; 6] = ["grep", "egrep", "fgrep", "rg", "jq", "yq"];
/// Programs that compare files: one of them is expected, the other one is the work.
const COMPARERS: [&str; 4] = ["diff", "cmp", "comm", "colordiff"];
/// Parts of the names of expected results.
const EXPECTED: [&str; 8] =
    ["expect", "golden", "reference", "baseline", "wanted", "correct", "snapshot", "solution"];
/// Programs and words before the program of a command.
const WRAPPERS: [&str; 15] = [
    "npx", "uv", "uvx", "poetry", "run", "exec", "env", "pnpm", "!", "if", "then", "while", "time",
    "timeout", "xargs",
];

/// Returns the words of a command whose files decide. `is_own`: the word names a file of the project; `is_python`: an
/// interpreter that may run a module; `is_compared`: another command of the check compares files.
pub(super) fn deciding(
    words: &[String],
    is_own: impl Fn(&str) -> bool,
    is_python: impl Fn(&str) -> bool,
    is_compared: bool,
) -> Vec<String> {
    let is_before = |word: &String| {
        let is_assigned = word.contains('=') && !word.starts_with('[');
        is_assigned || word.starts_with('-') || WRAPPERS.contains(&name_of(word)) || is_python(name_of(word))
    };
    let at = words.iter().position(|word| !is_before(word));
    let Some((program, operands)) = at.and_then(|at| words[at..].split_first()) else {
        return words.to_vec();
    };
    let name = name_of(program);
    // `pnpm test` runs a script.
    let is_script = name == "test" && words.iter().any(|word| word == "pnpm" || word == "run");
    if is_own(program) || is_script {
        return words.to_vec();
    }
    if JUDGES.contains(&name) {
        // `cat expected | diff - result`
        let is_printer = ["cat", "head", "tail", "cut"].contains(&name);
        if is_printer && is_compared {
            let expected = operands.iter().filter(|word| is_expected(word)).cloned().collect::<Vec<_>>();
            return if expected.is_empty() { words.to_vec() } else { expected };
        }
        // `grep -f patterns`, `jq --from-file`: the file holds the patterns.
        let searches = SEARCHERS.contains(&name);
        return operands
            .iter()
            .filter(|_| searches)
            .filter_map(|word| pattern_file(word, operands))
            .collect();
    }
    if COMPARERS.contains(&name) && operands.iter().any(|word| is_expected(word)) {
        return operands.iter().filter(|word| is_expected(word)).cloned().collect();
    }
    words.to_vec()
}

/// Returns the words of programs whose output another program of the command judges: `sh greet.sh | grep -q hello`. Agents
/// may write such a program, if it is not there.
pub(super) fn judged_output(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for pipeline in text.split([';', '\n', '&']).flat_map(|part| part.split("||")) {
        let parts: Vec<Vec<String>> = pipeline.split('|').map(super::named::shell_words).collect();
        let Some((last, before)) = parts.split_last() else { continue };
        let name =
            last.iter().find(|word| !WRAPPERS.contains(&word.as_str())).map_or("", |word| name_of(word));
        let is_judge = ["grep", "egrep", "fgrep", "rg", "jq"].contains(&name) || COMPARERS.contains(&name);
        if is_judge {
            found.extend(before.iter().flatten().cloned());
        }
    }
    found
}

/// Returns true if a command compares files.
pub(super) fn compares(words: &[String]) -> bool {
    words.iter().any(|word| COMPARERS.contains(&name_of(word)))
}

fn is_expected(word: &str) -> bool {
    let name = name_of(word).to_ascii_lowercase();
    influence::is_expectation(word) || EXPECTED.iter().any(|part| name.contains(part))
}

/// Returns the file of the option `-f`.
fn pattern_file(word: &str, operands: &[String]) -> Option<String> {
    if let Some((_, file)) = word.split_once("file=").filter(|_| word.starts_with("--")) {
        return Some(file.to_owned());
    }
    let at = operands.iter().position(|other| std::ptr::eq(other.as_str(), word))?;
    let before = at.checked_sub(1).and_then(|at| operands.get(at))?;
    let is_short = before.len() < 6 && before.starts_with('-') && !before.starts_with("--");
    let names_file = is_short && before.ends_with('f') || before == "--file" || before == "--from-file";
    names_file.then(|| word.to_owned())
}

fn name_of(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{compares, deciding};

    #[test]
    fn what_is_only_read_does_not_decide() {
        let table = [
            ("grep -q good out.txt", ""),
            ("! grep -rn TODO src", ""),
            ("grep -qf patterns.txt out.txt", "patterns.txt"),
            ("grep --file=patterns.txt out.txt", "patterns.txt"),
            ("rg -f patterns.txt out.txt", "patterns.txt"),
            ("test -s out.txt", ""),
            ("test -f out.txt", ""),
            ("pnpm test run.js", "pnpm test run.js"),
            ("[ -s out.txt ]", ""),
            ("cat out.txt", ""),
            ("jq -e .ok data.json", ""),
            ("python3 -m json.tool data.json", ""),
            ("python3 -m py_compile app.py", ""),
            ("python3 -m doctest app.py", ""),
            ("diff expected.txt out.txt", "expected.txt"),
            ("diff -u tests/golden/a.txt out.txt", "tests/golden/a.txt"),
            ("cmp a.txt b.txt", "cmp a.txt b.txt"),
            ("sh check.sh", "sh check.sh"),
            ("python3 check.py out.txt", "python3 check.py out.txt"),
            ("ruff check app.py", ""),
            ("./grep out.txt", "./grep out.txt"),
        ];
        for (command, expected) in table {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            let deciding = deciding(&words, |word| word == "./grep", |name| name == "python3", false);
            assert_eq!(deciding.join(" "), expected, "{command}");
        }
        assert_eq!(super::judged_output("sh a.sh | grep -q x && sh b.sh"), ["sh", "a.sh"]);
        assert_eq!(super::judged_output("sh a.sh | tee log || true"), [""; 0]);
        let words = ["cat", "expected.txt"].map(str::to_owned);
        assert_eq!(deciding(&words, |_| false, |_| false, true), ["expected.txt"]);
        assert!(compares(&["diff", "-", "x"].map(str::to_owned)));
    }
}
