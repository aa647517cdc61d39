//! Parses `go test -json`: one event per line.

use serde_json::Value;

use super::{CheckCount, TestNames, Unreadable, as_count, tests_summary};
use crate::checks::report::CheckFinding;

pub(super) fn count(text: &str) -> Result<CheckCount, Unreadable> {
    let events: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let part =
        |event: &Value, key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let ended = |action: &str| -> Vec<(String, String)> {
        let ended = events.iter().filter(|event| part(event, "Action") == action);
        ended.map(|event| (part(event, "Package"), part(event, "Test"))).collect()
    };
    let (failed, passed) = (ended("fail"), ended("pass"));
    if failed.is_empty() && passed.is_empty() && ended("skip").is_empty() {
        return Err("no events of `go test -json`".to_owned());
    }
    let is_own = |(package, test): &&(String, String)| {
        let is_below = |other: &(String, String)| {
            other.0 == *package
                && other != &(package.clone(), test.clone())
                && (test.is_empty() || other.1.starts_with(&format!("{test}/")))
        };
        !failed.iter().any(is_below)
    };
    let findings: Vec<CheckFinding> = failed.iter().filter(is_own).map(finding).collect();
    let errors = as_count(findings.len());
    let tests = as_count(passed.iter().filter(|(_, test)| !test.is_empty()).count());
    let all = tests + errors;
    let named = |tests: &[(String, String)]| {
        tests.iter().map(|(package, test)| format!("{package}: {test}")).collect::<Vec<_>>()
    };
    let skipped = as_count(ended("skip").len());
    let names = TestNames { failed: named(&failed), passed: Some(named(&passed)), skipped };
    Ok(CheckCount { errors, summary: tests_summary(errors, all), findings, tests: Some(all), names })
}

fn finding((package, test): &(String, String)) -> CheckFinding {
    let message =
        if test.is_empty() { format!("{package} does not build") } else { format!("{package}: {test}") };
    CheckFinding::new(None, None, &message)
}
