//! Counts errors in the output of a check. One file per format, each a pure function; unreadable output never counts as
//! success.

mod cargo;
mod go;
mod json;
mod junit;
mod plain;
mod sarif;
mod tap;
mod unittest;

use super::definition::CheckFormat;
use super::report::{CheckFinding, first};
pub(super) use plain::prints_tests;

/// The output of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckOutput {
    /// `None` if it was ended by a signal.
    pub exit_code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The contents of the report file, if one was written.
    pub report: Option<String>,
    /// True if the command runs cargo, as far as its text shows.
    pub runs_cargo: bool,
    /// True if the command runs a test runner that prints the number of its tests, and hides no output.
    pub prints_tests: bool,
}

/// The counted result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckCount {
    /// Number of errors.
    pub errors: u64,
    /// One line for display.
    pub summary: String,
    /// The findings.
    pub findings: Vec<CheckFinding>,
    /// The number of tests that ran; `None` if the format does not count them.
    pub tests: Option<u64>,
    /// Tests by name.
    pub names: TestNames,
}

/// The tests by name, as far as the format names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestNames {
    /// Names of failed tests.
    pub failed: Vec<String>,
    /// `None` if only failing tests are named.
    pub passed: Option<Vec<String>>,
    /// Number of skipped tests.
    pub skipped: u64,
}

/// The reason why a result could not be parsed.
type Unreadable = String;

impl CheckOutput {
    /// Returns the report, or the output.
    fn text(&self) -> &str {
        self.report.as_deref().unwrap_or(&self.stdout)
    }

    /// Returns true if it succeeded although a test program of Rust printed no result. Other runners also print `running 5
    /// tests`.
    fn is_unended(&self, format: &CheckFormat) -> bool {
        let is_rust = match format {
            CheckFormat::Exit => self.runs_cargo || cargo::has_tests(&self.stdout),
            CheckFormat::Cargo => true,
            _ => false,
        };
        is_rust && self.exit_code == Some(0) && cargo::is_unended(self.text())
    }

    fn exit_words(&self) -> String {
        self.exit_code
            .map_or_else(|| "was ended by a signal".to_owned(), |code| format!("exited with {code}"))
    }

    /// Returns the last line, which usually contains the cause.
    fn last_line(&self) -> &str {
        [&self.stderr, &self.stdout]
            .into_iter()
            .find_map(|text| text.lines().rev().map(str::trim).find(|line| !line.is_empty()))
            .unwrap_or_default()
    }
}

/// Counts errors. A failed command has at least one error regardless of its output; so has a command with an unreadable
/// result.
pub fn count(format: &CheckFormat, output: &CheckOutput) -> CheckCount {
    let counted = match format {
        _ if output.is_unended(format) => Err(cargo::UNENDED.to_owned()),
        // The diagnostics of a language server are counted elsewhere; only its exit matters here.
        CheckFormat::Lsp { .. } => Ok(CheckCount::default()),
        CheckFormat::Exit => {
            let tests = plain::tests_in(&output.stdout).into_iter().chain(plain::tests_in(&output.stderr));
            let tests = tests.reduce(u64::saturating_add).filter(|_| output.prints_tests);
            Ok(CheckCount { tests, ..CheckCount::default() })
        }
        CheckFormat::Json { pointer } => json::count(output.text(), pointer),
        CheckFormat::Tap => tap::count(output.text()),
        CheckFormat::Junit => junit::count(output.text()),
        CheckFormat::Sarif => sarif::count(output.text()),
        CheckFormat::Cargo => cargo::count(output.text()),
        CheckFormat::Unittest => unittest::count(&format!("{}\n{}", output.stdout, output.stderr)),
        CheckFormat::Go => go::count(output.text()),
    };
    let mut counted = match counted {
        Ok(counted) => counted,
        Err(why) => {
            failed(output, &format!("it {}, and its result cannot be read: {why}", output.exit_words()))
        }
    };
    if counted.errors == 0 && output.exit_code != Some(0) {
        let tests = counted.tests.filter(|_| *format == CheckFormat::Exit);
        counted = CheckCount { tests, ..failed(output, &format!("it {}", output.exit_words())) };
    }
    if counted.summary.is_empty() {
        counted.summary = "ok".to_owned();
    }
    counted.findings = first(counted.findings);
    counted
}

/// Counts a check that did not write its report.
pub(super) fn without_report(output: &CheckOutput) -> CheckCount {
    failed(output, &format!("it {} and wrote no report", output.exit_words()))
}

fn failed(output: &CheckOutput, why: &str) -> CheckCount {
    let last = output.last_line();
    let message = if last.is_empty() { why.to_owned() } else { format!("{why}: {last}") };
    let finding = CheckFinding::new(None, None, &message);
    let summary = finding.message.clone();
    CheckCount { errors: 1, summary, findings: vec![finding], ..CheckCount::default() }
}

/// Returns `3 of 10 tests failed`, `10 tests passed`.
fn tests_summary(failed: u64, all: u64) -> String {
    match failed {
        0 => format!("{} passed", many(all, "test")),
        _ => format!("{failed} of {} failed", many(all, "test")),
    }
}

/// Returns `1 error`, `2 errors`.
pub(super) fn many(count: u64, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

pub(super) fn as_count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
