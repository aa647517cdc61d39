//! Parses the Test Anything Protocol, versions 12 to 14. Failures are counted where they occur: a test that failed only
//! because of its subtests is not counted again.

use std::sync::LazyLock;

use regex::Regex;

use super::{CheckCount, TestNames, Unreadable, as_count, many, tests_summary};
use crate::checks::report::CheckFinding;

static TEST: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^(\s*)(not ok|ok)\b(?:\s+\d+)?(?:\s*-)?\s*(.*?)(?:\s+#\s*(.*))?$").ok());
static PLAN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^1\.\.(\d+)").ok());

#[derive(Default)]
struct TapTally {
    all: u64,
    /// Tests at the outermost level, which the plan counts.
    outer: u64,
    planned: Option<u64>,
    failed: Vec<CheckFinding>,
    /// Failures below each depth since the last test at that depth.
    below: Vec<(usize, u64)>,
    is_bailed: bool,
    names: TestNames,
}

pub(super) fn count(text: &str) -> Result<CheckCount, Unreadable> {
    let mut tally = TapTally::default();
    let mut is_in_failure = false;
    for line in text.lines() {
        match TEST.as_ref().and_then(|test| test.captures(line)) {
            Some(found) => {
                let part = |index: usize| found.get(index).map_or("", |part| part.as_str());
                is_in_failure = tally.test(part(1).len(), part(2) == "ok", part(3), part(4));
            }
            None if is_in_failure => tally.diagnose(line.trim()),
            None => {}
        }
        tally.take_plan(line);
    }
    tally.counted()
}

impl TapTally {
    /// Records a test; returns true if it failed and a diagnostic may follow.
    fn test(&mut self, depth: usize, is_ok: bool, name: &str, directive: &str) -> bool {
        let below: u64 = self.below.iter().filter(|(at, _)| *at > depth).map(|(_, failed)| failed).sum();
        let has_subtests = self.below.iter().any(|(at, _)| *at > depth);
        self.below.retain(|(at, _)| *at <= depth);
        self.outer += u64::from(depth == 0);
        let directive = directive.to_ascii_lowercase();
        let is_excused = directive.starts_with("todo") || directive.starts_with("skip");
        let is_failure = !is_ok && !is_excused;
        let is_own = is_failure && below == 0;
        // A test with such a directive did not run, or may fail.
        self.all += u64::from((!has_subtests || is_own) && !is_excused);
        self.below.push((depth, below + u64::from(is_own)));
        if is_excused {
            self.names.skipped += 1;
        } else if is_ok {
            self.names.passed.get_or_insert_default().push(name.to_owned());
        } else {
            self.names.failed.push(name.to_owned());
        }
        if is_own {
            self.failed.push(CheckFinding::new(None, None, name));
        }
        is_own
    }

    fn take_plan(&mut self, line: &str) {
        if let Some(found) = PLAN.as_ref().and_then(|plan| plan.captures(line)) {
            self.planned = found.get(1).and_then(|number| number.as_str().parse().ok());
        }
        self.is_bailed |= line.starts_with("Bail out!");
    }

    /// Reads location and message from a diagnostic block.
    fn diagnose(&mut self, line: &str) {
        let Some(finding) = self.failed.last_mut() else { return };
        let unquoted = |text: &str| text.trim().trim_matches(['\'', '"']).to_owned();
        if let Some(place) = line.strip_prefix("location:").map(unquoted) {
            let mut parts = place.rsplitn(3, ':');
            let (_, line, file) = (parts.next(), parts.next(), parts.next());
            finding.line = line.and_then(|line| line.parse().ok());
            finding.file = file.map(|file| file.trim_start_matches("file://").to_owned());
        } else if let Some(error) = ["error:", "message:"].iter().find_map(|key| line.strip_prefix(key)) {
            let error = unquoted(error);
            if !error.is_empty() && !error.starts_with('|') {
                *finding = CheckFinding::new(
                    finding.file.as_deref(),
                    finding.line,
                    &format!("{}: {error}", finding.message),
                );
            }
        }
    }

    fn counted(mut self) -> Result<CheckCount, Unreadable> {
        if self.outer == 0 && self.planned.is_none() && !self.is_bailed {
            return Err("no TAP".to_owned());
        }
        let missing = self.planned.map_or(0, |planned| planned.saturating_sub(self.outer));
        // Tests that did not run after a bail-out are counted once.
        let more = missing.max(u64::from(self.is_bailed));
        let errors = as_count(self.failed.len()) + more;
        if self.is_bailed {
            self.failed.push(CheckFinding::new(None, None, "the test run stopped early (`Bail out!`)"));
        }
        if missing > 0 {
            let message = format!("{} did not run", many(missing, "planned test"));
            self.failed.push(CheckFinding::new(None, None, &message));
        }
        let summary = tests_summary(errors, self.all + more);
        self.names.passed.get_or_insert_default();
        let (tests, names) = (Some(self.all), self.names);
        Ok(CheckCount { errors, summary, findings: self.failed, tests, names })
    }
}
