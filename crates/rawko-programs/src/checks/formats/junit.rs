//! Parses JUnit XML, as written by pytest, Maven, Gradle, jest and many others.

use roxmltree::{Document, Node};

use super::{CheckCount, TestNames, Unreadable, as_count, tests_summary};
use crate::checks::report::CheckFinding;

pub(super) fn count(text: &str) -> Result<CheckCount, Unreadable> {
    let document = Document::parse(text.trim()).map_err(|error| format!("no XML: {error}"))?;
    let root = document.root_element();
    if !matches!(root.tag_name().name(), "testsuites" | "testsuite") {
        return Err(format!("`<{}>` is not JUnit's", root.tag_name().name()));
    }
    let cases = || root.descendants().filter(|node| node.has_tag_name("testcase"));
    let findings: Vec<CheckFinding> = cases().filter_map(|case| failure(&case)).collect();
    let errors = as_count(findings.len());
    // A skipped test did not run.
    let is_skipped = |case: &Node<'_, '_>| case.children().any(|node| node.has_tag_name("skipped"));
    let ran: Vec<Node<'_, '_>> = cases().filter(|case| !is_skipped(case)).collect();
    let all = as_count(ran.len());
    let (failed, passed): (Vec<_>, Vec<_>) = ran.iter().partition(|case| failure(case).is_some());
    let named = |cases: &[&Node<'_, '_>]| cases.iter().map(|case| name(case)).collect::<Vec<_>>();
    let skipped = as_count(cases().count()) - all;
    let names = TestNames { failed: named(&failed), passed: Some(named(&passed)), skipped };
    Ok(CheckCount { errors, summary: tests_summary(errors, all), findings, tests: Some(all), names })
}

fn name(case: &Node<'_, '_>) -> String {
    let parts = [case.attribute("classname"), case.attribute("name")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(".")
}

fn failure(case: &Node<'_, '_>) -> Option<CheckFinding> {
    let is_failure = |node: &Node<'_, '_>| node.has_tag_name("failure") || node.has_tag_name("error");
    let failure = case.children().find(is_failure)?;
    let said = failure.attribute("message").or_else(|| failure.text()).unwrap_or_default();
    let name = name(case);
    let first_line = said.trim().lines().next().unwrap_or_default();
    let line = case.attribute("line").and_then(|line| line.parse().ok());
    Some(CheckFinding::new(case.attribute("file"), line, &format!("{name}: {first_line}")))
}
