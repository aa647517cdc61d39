//! `CheckReport`: the result of all checks. Plain data: it is stored in a chart's context, a prompt and the journal.

use serde::{Deserialize, Serialize};

use super::definition::Check;
use super::run::shown;

const FINDINGS_MAX: usize = 50;
const MESSAGE_CHARS_MAX: usize = 500;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    pub checks: Vec<CheckResult>,
    /// Errors of the checks that decide.
    pub errors_total: u64,
    /// True if every check that decides passed. Also true without any checks: callers inspect `checks`.
    pub clean: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    pub name: String,
    pub command: String,
    pub ok: bool,
    /// False for advice: its errors are shown to agents, and do not fail the whole.
    #[serde(default = "decides", skip_serializing_if = "Clone::clone")]
    pub decides: bool,
    pub errors: u64,
    /// The number of tests that ran, if the format counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<u64>,
    /// One line for display.
    pub summary: String,
    /// The first findings.
    pub findings: Vec<CheckFinding>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckFinding {
    pub file: Option<String>,
    pub line: Option<u64>,
    pub message: String,
}

/// A check decides unless the settings turn that off.
pub(super) fn decides() -> bool {
    true
}

impl CheckReport {
    pub fn of(checks: Vec<CheckResult>) -> Self {
        let deciding = || checks.iter().filter(|check| check.decides);
        let errors_total = deciding().map(|check| check.errors).fold(0, u64::saturating_add);
        Self { clean: deciding().all(|check| check.ok), errors_total, checks }
    }
}

impl CheckResult {
    /// A check that did not run since the files changed: nothing is known of it.
    pub fn not_run(check: &Check, why: &str) -> Self {
        Self {
            name: check.name.clone(),
            command: shown(&check.command),
            ok: false,
            decides: check.decides,
            errors: 0,
            tests: None,
            summary: why.to_owned(),
            findings: Vec::new(),
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

/// Truncates findings to the reported maximum.
pub(super) fn first(mut findings: Vec<CheckFinding>) -> Vec<CheckFinding> {
    findings.truncate(FINDINGS_MAX);
    findings
}
