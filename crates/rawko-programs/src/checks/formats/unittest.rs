//! Parses the output of Python's `unittest`: `Ran 3 tests in 0.001s`, then `OK` or `FAILED (failures=1, errors=2)`.

use std::sync::LazyLock;

use regex::Regex;

use super::{CheckCount, TestNames, Unreadable, tests_summary};
use crate::checks::report::CheckFinding;

static RAN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^Ran (\d+) tests? in ").ok());
static VERDICT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$").ok());
static HEADING: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^(?:FAIL|ERROR): (.+)$").ok());
static PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"^\s+File "(.+)", line (\d+)"#).ok());
/// Counters that mark a run as failed.
const FAILURES: [&str; 3] = ["failures", "errors", "unexpected successes"];
/// Counters of tests without a verdict: they did not run, or may fail.
const NOT_RUN: [&str; 2] = ["skipped", "expected failures"];

pub(super) fn count(text: &str) -> Result<CheckCount, Unreadable> {
    let mut ran = None;
    let mut errors = None;
    let mut skipped = 0;
    let mut findings: Vec<CheckFinding> = Vec::new();
    for line in text.lines() {
        let capture = |pattern: &LazyLock<Option<Regex>>, index: usize| -> Option<String> {
            Some(pattern.as_ref()?.captures(line)?.get(index)?.as_str().to_owned())
        };
        if let Some(number) = capture(&RAN, 1) {
            ran = number.parse::<u64>().ok();
        } else if ran.is_some() && VERDICT.as_ref().is_some_and(|verdict| verdict.is_match(line)) {
            let parts = capture(&VERDICT, 1).unwrap_or_default();
            errors = Some(sum(&parts, &FAILURES));
            skipped = sum(&parts, &NOT_RUN);
        } else if let Some(name) = capture(&HEADING, 1) {
            findings.push(CheckFinding::new(None, None, &name));
        } else if let (Some(file), Some(number), Some(finding)) =
            (capture(&PLACE, 1), capture(&PLACE, 2), findings.last_mut())
        {
            (finding.file, finding.line) = (Some(file), number.parse().ok());
        }
    }
    let (Some(ran), Some(errors)) = (ran, errors) else { return Err("no summary of unittest".to_owned()) };
    let all = ran.saturating_sub(skipped).max(errors);
    let failed = findings.iter().map(|finding| finding.message.clone()).collect();
    let names = TestNames { failed, passed: None, skipped };
    Ok(CheckCount { errors, summary: tests_summary(errors, all), findings, tests: Some(all), names })
}

/// Sums counters of `failures=1, errors=2, skipped=3`.
fn sum(parts: &str, keys: &[&str]) -> u64 {
    let parts = parts.split(',').filter_map(|part| part.trim().split_once('='));
    parts.filter(|(key, _)| keys.contains(key)).filter_map(|(_, number)| number.parse::<u64>().ok()).sum()
}
