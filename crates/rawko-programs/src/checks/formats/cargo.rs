//! Parses `cargo … --message-format=json`: compiler messages as JSON lines, mixed with test output. Lines of libtest
//! are parsed as a whole; `0 failed` is a count, not a keyword.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::{CheckCount, TestNames, Unreadable, as_count, many, tests_summary};
use crate::checks::report::CheckFinding;

static RESULT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed;").ok());
static FAILED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^test (.+) \.\.\. FAILED$").ok());

static PASSED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^test (.+) \.\.\. ok$").ok());

/// What a program that was ended from within is reported as.
pub(super) const UNENDED: &str = "a test program of Rust was ended from within before it came to its end";

#[derive(Default)]
struct CargoTally {
    compiler: Vec<CheckFinding>,
    tests: Vec<CheckFinding>,
    passed: u64,
    failed: u64,
    is_cargo: bool,
    /// True if a test program reported.
    has_tested: bool,
    names: TestNames,
}

/// Returns true if a test program began and printed no result, which an exit in it hides from cargo.
pub(super) fn is_unended(text: &str) -> bool {
    let is_begin = |line: &&str| {
        let words: Vec<&str> = line.split(' ').collect();
        matches!(words[..], ["running", count, "test" | "tests"] if count.parse::<u64>().is_ok())
    };
    let ends = text.lines().filter(|line| line.starts_with("test result: ")).count();
    text.lines().filter(is_begin).count() > ends
}

/// Returns true if a test of Rust printed its name or a result.
pub(super) fn has_tests(text: &str) -> bool {
    let is_test = |line: &str| line.starts_with("test ") && line.contains(" ...");
    text.lines().any(|line| is_test(line) || line.starts_with("test result: "))
}

pub(super) fn count(text: &str) -> Result<CheckCount, Unreadable> {
    let mut tally = CargoTally::default();
    for line in text.lines() {
        match serde_json::from_str::<Value>(line) {
            Ok(message) if message.get("reason").is_some() => tally.message(&message),
            _ => tally.line(line.trim_end()),
        }
    }
    if !tally.is_cargo {
        return Err("no messages of cargo; it needs `--message-format=json`".to_owned());
    }
    Ok(tally.counted())
}

impl CargoTally {
    fn message(&mut self, message: &Value) {
        self.is_cargo = true;
        if message.get("reason").and_then(Value::as_str) != Some("compiler-message") {
            return;
        }
        let Some(message) = message.get("message") else { return };
        let is_error = message.get("level").and_then(Value::as_str) == Some("error");
        if let Some(finding) = is_error.then(|| finding(message)).flatten()
            // A library and its tests are compiled separately and emit the same message.
            && !self.compiler.contains(&finding)
        {
            self.compiler.push(finding);
        }
    }

    fn line(&mut self, line: &str) {
        if let Some(found) = RESULT.as_ref().and_then(|result| result.captures(line)) {
            let number = |index: usize| {
                found.get(index).and_then(|part| part.as_str().parse::<u64>().ok()).unwrap_or(0)
            };
            self.has_tested = true;
            self.passed += number(1);
            self.failed += number(2);
            self.is_cargo = true;
        } else if let Some(name) = PASSED.as_ref().and_then(|passed| passed.captures(line)?.get(1)) {
            self.names.passed.get_or_insert_default().push(name.as_str().to_owned());
        } else if let Some(name) = FAILED.as_ref().and_then(|failed| failed.captures(line)?.get(1)) {
            self.names.failed.push(name.as_str().to_owned());
            self.tests.push(CheckFinding::new(None, None, &format!("test {} failed", name.as_str())));
        }
    }

    fn counted(self) -> CheckCount {
        let (compiler, all) = (as_count(self.compiler.len()), self.passed + self.failed);
        let summary = match (compiler, all) {
            (0, 0) => "it compiles".to_owned(),
            (0, _) => tests_summary(self.failed, all),
            (_, 0) => many(compiler, "compiler error"),
            _ => format!("{}, {}", many(compiler, "compiler error"), tests_summary(self.failed, all)),
        };
        let findings = self.compiler.into_iter().chain(self.tests).collect();
        // Without any line of a test program it only compiled.
        let tests = self.has_tested.then_some(all);
        CheckCount { errors: compiler + self.failed, summary, findings, tests, names: self.names }
    }
}

/// Returns `None` for the final summary: it has no location and no code, and always follows another error.
fn finding(message: &Value) -> Option<CheckFinding> {
    let text = message.get("message").and_then(Value::as_str).unwrap_or_default();
    let span = message.get("spans").and_then(Value::as_array).and_then(|spans| {
        let is_primary = |span: &&Value| span.get("is_primary").and_then(Value::as_bool) == Some(true);
        spans.iter().find(is_primary).or_else(|| spans.first())
    });
    if span.is_none() && text.starts_with("aborting due to ") {
        return None;
    }
    let file = span.and_then(|span| span.get("file_name")?.as_str());
    let line = span.and_then(|span| span.get("line_start")?.as_u64());
    let code = message.pointer("/code/code").and_then(Value::as_str);
    let text = code.map_or_else(|| text.to_owned(), |code| format!("{code}: {text}"));
    Some(CheckFinding::new(file, line, &text))
}
