//! A test report as text. Colour is the caller's: every stretch of text has a [`Tone`], and a function paints it.

use std::fmt;

use crate::report::{ChartCoverage, FileReport, ItemCoverage, ScenarioReport, TestReport, VariantReport};

/// The meaning of a stretch of text, for the caller to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A file name or the heading of a coverage section.
    Title,
    /// `ok`, or the summary of a successful report.
    Good,
    /// `FAILED`, or the summary of a report with failures.
    Bad,
    /// The label of a fault or of missing coverage.
    Notice,
}

impl TestReport {
    /// Files, scenarios, differences, coverage and the sum; ends with a line break.
    pub fn to_text(&self, paint: &dyn Fn(Tone, &str) -> String) -> String {
        let mut text = TextReport { text: String::new(), paint };
        self.files.iter().for_each(|file| text.file(file));
        self.coverage.iter().for_each(|coverage| text.coverage(coverage));
        let tone = if self.is_success() { Tone::Good } else { Tone::Bad };
        let summary = text.painted(tone, &summary(self));
        text.line(&summary);
        text.text
    }
}

/// The report without colour.
impl fmt::Display for TestReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text(&|_, text| text.to_owned()))
    }
}

struct TextReport<'a> {
    text: String,
    paint: &'a dyn Fn(Tone, &str) -> String,
}

impl TextReport<'_> {
    fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }

    fn painted(&self, tone: Tone, text: &str) -> String {
        (self.paint)(tone, text)
    }

    fn file(&mut self, file: &FileReport) {
        let title = self.painted(Tone::Title, &file.file);
        self.line(&title);
        if let Some(problem) = &file.problem {
            for line in problem.trim_end().lines() {
                self.line(format!("  {line}").trim_end());
            }
        }
        file.scenarios.iter().for_each(|scenario| self.scenario(scenario));
        self.line("");
    }

    fn scenario(&mut self, scenario: &ScenarioReport) {
        let verdict = if scenario.passed {
            self.painted(Tone::Good, "ok    ")
        } else {
            self.painted(Tone::Bad, "FAILED")
        };
        self.line(&format!("  {verdict}  {}", scenario.name));
        for failure in &scenario.failures {
            self.line(&format!(
                "          line {}, after {}: {}",
                failure.line, failure.stimulus, failure.at
            ));
            self.line(&format!("            expected  {}", failure.expected));
            self.line(&format!("            actual    {}", failure.actual));
        }
        for fault in &scenario.expression_faults {
            let title = self.painted(Tone::Notice, "fault");
            self.line(&format!("          {title}: {fault}"));
        }
        for reason in &scenario.refused_calls {
            let title = self.painted(Tone::Notice, "refused");
            self.line(&format!("          {title}: {reason}"));
        }
        for (noun, variants) in scenario.variants() {
            self.variants(noun, variants);
        }
    }

    fn variants(&mut self, noun: &str, variants: &VariantReport) {
        self.line(&format!("          {}", variant_summary(noun, variants)));
        // One mistake usually shows in several variants: it is printed once.
        for same in variants.failures.chunk_by(|a, b| a.failure == b.failure) {
            let [first, others @ ..] = same else { continue };
            let failure = &first.failure;
            self.line(&format!(
                "          {}; line {}, after {}: {}",
                first.variant, failure.line, failure.stimulus, failure.at
            ));
            self.line(&format!("            expected  {}", failure.expected));
            self.line(&format!("            actual    {}", failure.actual));
            for other in others {
                self.line(&format!("            also with {}", other.variant));
            }
        }
    }

    fn coverage(&mut self, coverage: &ChartCoverage) {
        let (states, transitions) = (&coverage.states, &coverage.transitions);
        let title = format!("coverage of {}: {}%", coverage.chart, coverage.percent);
        let title = self.painted(Tone::Title, &title);
        self.line(&format!(
            "{title} ({} of {} states, {} of {} transitions)",
            states.covered, states.total, transitions.covered, transitions.total
        ));
        self.missing("states never entered", states);
        self.missing("transitions never taken", transitions);
        self.line("");
    }

    fn missing(&mut self, title: &str, items: &ItemCoverage) {
        if items.missing.is_empty() {
            return;
        }
        let title = self.painted(Tone::Notice, title);
        self.line(&format!("  {title}:"));
        for name in &items.missing {
            self.line(&format!("    {name}"));
        }
    }
}

/// `14 crash runs: all passed`.
fn variant_summary(noun: &str, variants: &VariantReport) -> String {
    let runs = count(variants.runs, &format!("{noun} run"));
    let runs = match variants.omitted {
        0 => runs,
        omitted => format!("{runs} ({omitted} more omitted)"),
    };
    match variants.failures.len() {
        0 => format!("{runs}: all passed"),
        failed => format!("{runs}: {failed} failed"),
    }
}

fn summary(report: &TestReport) -> String {
    let mut parts = Vec::new();
    if report.passed() + report.failed() > 0 {
        let total = count(report.passed() + report.failed(), "scenario");
        parts.push(format!("{total}: {} passed", report.passed()));
    }
    if report.failed() > 0 {
        parts.push(format!("{} failed", report.failed()));
    }
    if report.unusable() > 0 {
        parts.push(format!("{} could not be run", count(report.unusable(), "file")));
    }
    if parts.is_empty() { "no scenarios".to_owned() } else { parts.join(", ") }
}

/// `1 scenario`, `2 scenarios`.
fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
