//! `CheckReport`: the result of all checks. Plain data: it is stored in a chart's context, a prompt and the journal.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::base::TestCount;
use super::definition::ProjectCheck;
use super::formats::{TestNames, as_count, many};
use super::run::shown;

const FINDINGS_MAX: usize = 50;
const MESSAGE_CHARS_MAX: usize = 500;
/// Paths in one sentence.
const PATHS_SHOWN: usize = 5;

/// The results of all checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// The result of each check.
    pub checks: Vec<CheckResult>,
    /// Errors of the checks that decide.
    pub errors_total: u64,
    /// True if every check that decides passed. Also true without any checks: callers inspect `checks`.
    pub clean: bool,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// The name of the check.
    pub name: String,
    /// The command that ran.
    pub command: String,
    /// True if it passed.
    pub ok: bool,
    /// False for advice: its errors are shown to agents, and do not fail the whole.
    #[serde(default = "decides", skip_serializing_if = "Clone::clone")]
    pub decides: bool,
    /// Number of errors.
    pub errors: u64,
    /// The number of tests that ran, if the format counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<u64>,
    /// One line for display.
    pub summary: String,
    /// The first findings.
    pub findings: Vec<CheckFinding>,
    /// Tests by name.
    #[serde(skip)]
    pub names: TestNames,
}

/// One problem that a check reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckFinding {
    /// The file, relative to the project.
    pub file: Option<String>,
    /// Counted from 1.
    pub line: Option<u64>,
    /// The text of the check.
    pub message: String,
}

/// A check decides unless the settings turn that off.
pub(super) fn decides() -> bool {
    true
}

impl CheckReport {
    /// Counts the errors of these results.
    pub fn of(checks: Vec<CheckResult>) -> Self {
        let deciding = || checks.iter().filter(|check| check.decides);
        let errors_total = deciding().map(|check| check.errors).fold(0, u64::saturating_add);
        Self { clean: deciding().all(|check| check.ok), errors_total, checks }
    }
}

impl CheckResult {
    /// A check that did not run since the files changed: nothing is known of it.
    pub fn not_run(check: &ProjectCheck, why: &str) -> Self {
        Self {
            name: check.name.clone(),
            command: shown(&check.command),
            ok: false,
            decides: check.decides,
            errors: 0,
            tests: None,
            summary: why.to_owned(),
            findings: Vec::new(),
            names: TestNames::default(),
        }
    }

    /// Makes a check without any test fail, because agents changed or deleted tests: nothing is left to pass.
    pub fn miss_tests(&mut self, changed: &str) {
        if !self.ok || self.tests != Some(0) {
            return;
        }
        let finding =
            CheckFinding::new(None, None, &format!("no test ran, and agents changed tests: {changed}"));
        (self.ok, self.errors, self.summary) = (false, 1, finding.message.clone());
        self.findings = vec![finding];
    }

    /// Counts errors of the start that are gone together with their tests. New tests make up for removed ones.
    pub(super) fn miss_failing_tests(&mut self, start: &TestCount, removed: &BTreeSet<String>) {
        let fewer_tests = start.tests.saturating_sub(self.tests.unwrap_or(0));
        let fewer_errors = start.errors.saturating_sub(self.errors);
        let names = &self.names;
        let is_gone = |name: &&String| match &names.passed {
            Some(passed) => !passed.contains(name) && !names.failed.contains(name),
            None => !names.failed.contains(name) && removed.contains(first_word(name)),
        };
        let missing = match (self.tests, &names.passed) {
            // It does not report its tests any more.
            (None, _) => fewer_errors,
            (Some(_), Some(_)) => as_count(start.failing.iter().filter(is_gone).count()),
            (Some(_), None) => {
                let skipped = names.skipped.saturating_sub(start.skipped);
                as_count(start.failing.iter().filter(is_gone).count()).saturating_add(skipped)
            }
        };
        let missing = missing.min(fewer_tests).min(fewer_errors);
        if missing == 0 {
            return self.miss_summary(start);
        }
        let (tests, verb) = if missing == 1 { ("test", "does") } else { ("tests", "do") };
        let text = format!(
            "{missing} {tests} that failed before the task {verb} not run any more; a test that is removed or skipped is not fixed"
        );
        let finding = CheckFinding::new(None, None, &text);
        self.summary = if self.ok { text } else { format!("{}; {text}", self.summary) };
        (self.ok, self.errors) = (false, self.errors + missing);
        self.findings.insert(0, finding);
    }
}

impl CheckResult {
    /// Makes a check fail whose tests ran before the task and do not now: its exit code alone proves nothing.
    fn miss_summary(&mut self, start: &TestCount) {
        if !self.ok || start.tests == 0 || self.tests.is_some_and(|tests| tests > 0) {
            return;
        }
        let now = if self.tests.is_some() { "reports that none ran" } else { "prints no result of a run" };
        let text = format!(
            "{} ran before the task, and now its runner {now}; a check without its tests proves nothing",
            many(start.tests, "test")
        );
        let finding = CheckFinding::new(None, None, &text);
        (self.ok, self.errors, self.summary) = (false, start.errors.max(1), finding.message.clone());
        self.findings.insert(0, finding);
    }

    /// Counts errors of a control run: what fails there as it did before the task is not fixed. `before`: the errors of
    /// then. Tests that passed then may fail in the control run, because agents may change their tests.
    pub(super) fn compare(
        &mut self,
        control: &Self,
        start: Option<&TestCount>,
        before: u64,
        taken_back: &[String],
    ) {
        let still = match (start, control.tests) {
            (Some(start), Some(tests)) if !start.failing.is_empty() => {
                // A file that could not be read then has tests now.
                let is_new = tests > start.tests;
                let failed = control.names.failed.iter();
                let failed = as_count(failed.filter(|name| is_new || start.failing.contains(name)).count());
                failed.saturating_add(control.lost(start, tests))
            }
            (_, _) => control.errors.min(before),
        };
        if still <= self.errors {
            return;
        }
        if taken_back.is_empty() {
            return self.disarmed(&Self { errors: still, ..control.clone() }, taken_back);
        }
        let text = format!(
            "it passes only with the changes to {}. Without them {} as before the task: {}. Fix the cause instead",
            shown_paths(taken_back),
            if still == 1 { "1 error remains".to_owned() } else { format!("{still} errors remain") },
            control.summary
        );
        let finding = CheckFinding::new(None, None, &text);
        (self.ok, self.errors, self.summary) = (false, still, finding.message.clone());
        self.findings.insert(0, finding);
    }
}

impl CheckResult {
    /// Takes the errors of a run in which code that ends or disarms the check has no effect.
    pub(super) fn disarmed(&mut self, control: &Self, taken_back: &[String]) {
        let code = match taken_back {
            [] => "changed code".to_owned(),
            paths => format!("the code of {}", shown_paths(paths)),
        };
        let text = format!(
            "it passes only because {code} ends or disarms it: {}. Fix the cause instead",
            control.summary
        );
        let finding = CheckFinding::new(None, None, &text);
        (self.ok, self.errors, self.summary) = (false, control.errors, finding.message.clone());
        self.findings.insert(0, finding);
    }
}

impl CheckResult {
    /// Counts failing tests of the start that a control run did not come to, because a file of tests cannot be loaded.
    fn lost(&self, start: &TestCount, tests: u64) -> u64 {
        let names = &self.names;
        let is_loader = |name: &&String| name.contains("_FailedTest");
        let modules: Vec<&str> =
            names.failed.iter().filter(is_loader).filter_map(|name| name.split(' ').next()).collect();
        let fewer = start.tests.saturating_sub(tests);
        if fewer == 0 && modules.is_empty() {
            return 0;
        }
        let is_in = |name: &str, module: &str| name.contains(&format!("({module}."));
        let is_lost = |name: &&String| {
            let is_known = names.failed.contains(name)
                || names.passed.as_ref().is_some_and(|passed| passed.contains(name));
            !is_known && (modules.is_empty() || modules.iter().any(|module| is_in(name, module)))
        };
        let lost = as_count(start.failing.iter().filter(is_lost).count());
        if modules.is_empty() { lost.min(fewer) } else { lost }
    }
}

/// Returns the first paths.
fn shown_paths(paths: &[String]) -> String {
    let shown = paths.iter().take(PATHS_SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(PATHS_SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

impl CheckFinding {
    pub(super) fn new(file: Option<&str>, line: Option<u64>, message: &str) -> Self {
        let message = message.trim();
        let message = match message.char_indices().nth(MESSAGE_CHARS_MAX) {
            Some((at, _)) => format!("{}…", &message[..at]),
            None => message.to_owned(),
        };
        Self { file: file.map(str::to_owned), line, message }
    }
}

/// Returns the name of a test function: `test_a` of `test_a (module.Class.test_a)`.
fn first_word(name: &str) -> &str {
    let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(name.len());
    &name[..end]
}

/// Truncates findings to the reported maximum.
pub(super) fn first(mut findings: Vec<CheckFinding>) -> Vec<CheckFinding> {
    findings.truncate(FINDINGS_MAX);
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILING: [&str; 4] = ["a", "b", "c", "d"];

    fn start() -> TestCount {
        TestCount { tests: 10, errors: 4, skipped: 0, failing: FAILING.map(str::to_owned).to_vec() }
    }

    fn judged(tests: Option<u64>, names: TestNames, errors: u64, removed: &[&str]) -> (u64, bool) {
        let mut check = CheckResult {
            name: "t".into(),
            command: String::new(),
            ok: errors == 0,
            decides: true,
            errors,
            tests,
            summary: String::new(),
            findings: Vec::new(),
            names,
        };
        check.miss_failing_tests(&start(), &removed.iter().map(|word| (*word).to_owned()).collect());
        (check.errors, check.ok)
    }

    /// The control run of a check that passes: its failing tests, how many ran, and the errors that count.
    #[test]
    fn what_fails_in_the_control_run_as_before_is_not_fixed() {
        let table = [
            ("fixed", "", 10, 0),
            ("one test was weakened", "a", 10, 1),
            ("a test of another purpose fails: its change is allowed", "x", 10, 0),
            ("a file of tests could not be read at the start", "x y", 12, 2),
        ];
        for (name, failed, tests, expected) in table {
            let names = TestNames { failed: owned(failed), passed: None, skipped: 0 };
            let errors = names.failed.len() as u64;
            let control = CheckResult { tests: Some(tests), names, errors, ..passed() };
            let mut result = passed();
            result.compare(&control, Some(&start()), 4, &["tests/a.py".to_owned()]);
            assert_eq!((result.errors, result.ok), (expected, expected == 0), "{name}: {}", result.summary);
        }
        let name = "test_a (test_app.T.test_a)".to_owned();
        let start = TestCount { tests: 2, errors: 1, skipped: 0, failing: vec![name] };
        for (module, expected) in [("test_app", 1), ("test_other", 0)] {
            let failed = vec![format!("{module} (unittest.loader._FailedTest.{module})")];
            let names = TestNames { failed, passed: None, skipped: 0 };
            let control = CheckResult { tests: Some(1), names, errors: 1, ..passed() };
            let mut result = passed();
            result.compare(&control, Some(&start), 1, &["app.py".to_owned()]);
            assert_eq!(result.errors, expected, "{module} cannot be loaded");
        }
        let mut plain = passed();
        plain.compare(&CheckResult { errors: 1, ok: false, ..passed() }, None, 1, &["a".to_owned()]);
        assert_eq!((plain.errors, plain.ok), (1, false), "without counted tests the exit code decides");
    }

    fn passed() -> CheckResult {
        CheckResult {
            name: "t".into(),
            command: String::new(),
            ok: true,
            decides: true,
            errors: 0,
            tests: None,
            summary: String::new(),
            findings: Vec::new(),
            names: TestNames::default(),
        }
    }

    fn owned(names: &str) -> Vec<String> {
        names.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn errors_that_vanish_with_their_tests_still_count() {
        // Tests now, those that fail and pass by name, and the errors that count.
        let table = [
            ("two fixed", 10, "a b", "c d e f g h i j", 2),
            ("two deleted", 8, "a b", "e f g h i j", 4),
            ("all failing tests deleted", 6, "", "e f g h i j", 4),
            ("one fixed, one skipped", 9, "a b", "c e f g h i j", 3),
            ("a passing test removed, all others fixed", 9, "", "a b c d e f g h i", 0),
            ("passing tests removed, failing ones stay", 8, "a b c d", "e f g h", 4),
            ("replaced by others", 10, "", "k l m n e f g h i j", 0),
            ("more errors", 2, "a b c d x y z", "", 7),
        ];
        for (name, tests, failed, passed, expected) in table {
            let names = TestNames { failed: owned(failed), passed: Some(owned(passed)), skipped: 0 };
            let errors = names.failed.len() as u64;
            assert_eq!(judged(Some(tests), names, errors, &[]), (expected, expected == 0), "{name}");
        }
        assert_eq!(judged(None, TestNames::default(), 1, &[]), (4, false), "it does not report any more");
    }

    #[test]
    fn a_check_whose_tests_do_not_run_any_more_fails() {
        let table = [(Some(10), true), (Some(1), true), (Some(0), false), (None, false)];
        for (tests, expected) in table {
            let start = TestCount { errors: 0, failing: Vec::new(), ..start() };
            let mut check = CheckResult { tests, ..passed() };
            check.miss_failing_tests(&start, &BTreeSet::new());
            assert_eq!((check.ok, check.errors == 0), (expected, expected), "{tests:?}: {}", check.summary);
        }
        let mut check = passed();
        check.miss_failing_tests(&TestCount::default(), &BTreeSet::new());
        assert!(check.ok, "no test ran before, either");
    }

    #[test]
    fn without_names_of_passing_tests_the_changes_decide() {
        let names = |failed: &str, skipped| TestNames { failed: owned(failed), passed: None, skipped };
        assert_eq!(judged(Some(9), names("a b", 0), 2, &[]), (2, false), "fixed, and another one removed");
        assert_eq!(judged(Some(8), names("a b", 0), 2, &["c", "d", "x"]), (4, false), "removed");
        assert_eq!(judged(Some(8), names("", 2), 0, &[]), (2, false), "two fixed, two skipped");
    }
}
