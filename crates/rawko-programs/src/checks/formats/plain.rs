//! The number of tests that runners print at their end, in the output of a check that only has an exit code. A run whose
//! runner was ended from within has no such line, also if its exit code is 0.

use std::sync::LazyLock;

use regex::Regex;

/// Lines with a number of tests each; some runners print one for passing and one for failing tests.
const LINES: [&str; 13] = [
    // Python's unittest.
    r"^Ran (\d+) tests? in ",
    // Node: TAP, and `spec`.
    r"^(?:# |ℹ )tests (\d+)$",
    // Jest and Vitest.
    r"^Tests:\s.*?(\d+) total$",
    r"^\s*Tests  .*\((\d+)\)$",
    // Mocha.
    r"^\s+(\d+) passing(?: \(|$)",
    r"^\s+(\d+) failing$",
    // JUnit and Maven; the console of JUnit 5; PHPUnit.
    r"^(?:\[\w+\]\s+)?Tests run: (\d+),",
    r"^OK \((\d+) tests?[,)]",
    r"^\[\s+(\d+) tests (?:successful|failed)\s+\]",
    r"^Tests: (\d+), Assertions: ",
    // Perl's prove.
    r"^Files=\d+, Tests=(\d+),",
    // RSpec and Minitest.
    r"^(\d+) (?:examples|runs), \d+ (?:failures|assertions)",
    // Rust.
    r"^test result: \w+\. (\d+) passed;",
];

static PATTERNS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| LINES.iter().filter_map(|line| Regex::new(line).ok()).collect());
static RUST_FAILED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^test result: \w+\. \d+ passed; (\d+) failed;").ok());
/// `=== 1 failed, 2 passed in 0.12s ===`, `no tests ran in 0.01s`.
static PYTEST: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:=+ )?(?:no tests ran|\d+ [a-z]+(?:, \d+ [a-z]+)*) in \d+(?:\.\d+)?s(?:\s|$)").ok()
});
static PYTEST_PART: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(\d+) (?:passed|failed|errors?|xfailed|xpassed)\b").ok());
/// One package of Go: its tests are not counted.
static GO: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^(?:ok|FAIL)\s+\S+\s+(?:[\d.]+s|\(cached\))(.*)$").ok());

/// Runners that print the number of their tests, as words of a command.
const RUNNERS: [&str; 13] = [
    "unittest",
    "pytest",
    "py.test",
    "--test",
    "jest",
    "vitest",
    "mocha",
    "prove",
    "rspec",
    "phpunit",
    "mvn",
    "minitest",
    "JUnitCore",
];
/// Words of commands that print output of tests only if they fail, or not at all.
const HIDING: [&str; 6] = ["quiet", "silent", "on-failure", "-qq", "no:terminal", "reporter"];

/// Returns true if a command shows what a runner of tests prints. A redirect or a pipe may show it only when tests fail.
pub(in crate::checks) fn prints_tests(text: &str) -> bool {
    let plain = text.replace("2>&1", "");
    let is_runner = |word: &str| {
        let word = word.trim_matches(['"', '\'', ',', '[', ']', ';', '(', ')']);
        RUNNERS.contains(&word.rsplit('/').next().unwrap_or_default())
    };
    let words = || plain.split_whitespace();
    // Maven prints its tests only if one fails.
    let is_maven = |word: &str| matches!(word.rsplit('/').next(), Some("mvn" | "mvnw"));
    let hides = words().any(is_maven) && words().any(|word| word == "-q")
        || plain.contains(['>', '|', '`'])
        || plain.contains("$(")
        || HIDING.iter().any(|word| plain.contains(word));
    !hides && (words().any(is_runner) || plain.contains("go test"))
}

/// Returns the number of tests that ran; `None` if no runner printed one.
pub(super) fn tests_in(output: &str) -> Option<u64> {
    output
        .lines()
        .filter_map(|line| tests_of(line.trim_end()))
        .fold(None, |all, tests| Some(all.unwrap_or(0_u64).saturating_add(tests)))
}

fn tests_of(line: &str) -> Option<u64> {
    if PYTEST.as_ref().is_some_and(|pytest| pytest.is_match(line)) {
        let parts = PYTEST_PART.iter().flat_map(|part| part.captures_iter(line));
        return Some(parts.filter_map(|found| number(&found)).fold(0, u64::saturating_add));
    }
    if let Some(found) = GO.as_ref().and_then(|go| go.captures(line)) {
        return Some(u64::from(!found.get(1).is_some_and(|rest| rest.as_str().contains("no tests to run"))));
    }
    let found = PATTERNS.iter().find_map(|pattern| pattern.captures(line))?;
    let failed = RUST_FAILED.as_ref().and_then(|failed| number(&failed.captures(line)?)).unwrap_or(0);
    Some(number(&found)?.saturating_add(failed))
}

fn number(found: &regex::Captures<'_>) -> Option<u64> {
    found.get(1)?.as_str().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{prints_tests, tests_in};

    #[test]
    fn commands_that_hide_output_prove_nothing_by_it() {
        for (command, expected) in [
            ("python3 -m unittest", true),
            ("python3 -m unittest 2>&1", true),
            ("cd app && node_modules/.bin/jest --ci", true),
            ("node --test", true),
            ("go test ./...", true),
            ("npm test\njest", true),
            ("python3 -m unittest > log || cat log", false),
            ("pytest -qq", false),
            ("npm test --silent\njest", false),
            ("ctest --output-on-failure", false),
            ("mocha --reporter dot", false),
            ("python3 run_tests.py", false),
            ("make test", false),
            ("mvn test", true),
            ("mvn -q test", false),
            ("mvn -B --quiet test", false),
            ("pytest -q", true),
        ] {
            assert_eq!(prints_tests(command), expected, "{command}");
        }
    }

    #[test]
    fn summaries_of_runners_are_found() {
        for (output, expected) in [
            ("...\n----\nRan 3 tests in 0.001s\n\nOK\n", Some(3)),
            ("Ran 1 test in 0.001s\n\nFAILED (errors=1)\n", Some(1)),
            ("==== 1 failed, 2 passed, 1 warning in 0.12s ====\n", Some(3)),
            ("3 passed in 0.01s\n", Some(3)),
            ("1 error in 0.05s", Some(1)),
            ("2 skipped in 0.05s", Some(0)),
            ("no tests ran in 0.01s", Some(0)),
            ("# tests 4\n# suites 0\n# pass 4\n", Some(4)),
            ("ℹ tests 4\n", Some(4)),
            ("Tests:       1 failed, 2 passed, 3 total\n", Some(3)),
            (" Test Files  1 passed (1)\n      Tests  2 passed (2)\n", Some(2)),
            ("  3 passing (5ms)\n  1 failing\n", Some(4)),
            ("[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0\n", Some(5)),
            ("OK (3 tests)\n", Some(3)),
            ("[         3 tests successful      ]\n[         1 tests failed          ]\n", Some(4)),
            ("Files=1, Tests=7,  0 wallclock secs\nResult: PASS\n", Some(7)),
            ("5 examples, 0 failures\n", Some(5)),
            ("test result: FAILED. 2 passed; 1 failed; 0 ignored;\n", Some(3)),
            ("ok  \tx/y\t0.003s\nFAIL\tx/z\t0.1s\n", Some(2)),
            ("ok  \tx/y\t0.003s [no tests to run]\n", Some(0)),
            ("", None),
            ("all 3 tests passed\n", None),
            ("took 3 passed in a row\n", None),
        ] {
            assert_eq!(tests_in(output), expected, "{output}");
        }
    }
}
