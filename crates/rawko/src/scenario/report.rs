//! Test results for a person and for a program.

use crate::console::{Console, Style};
use crate::failure::Failure;

use super::results::{ChartCoverage, Covered, FileResult, Results, ScenarioResult};

/// Files, scenarios, what differed, what was never visited, and the sum.
pub(crate) fn print_text(results: &Results, console: &mut Console) -> Result<(), Failure> {
    for file in &results.files {
        print_file(file, console)?;
    }
    for coverage in &results.coverage {
        print_coverage(coverage, console)?;
    }
    let summary = summary(results);
    let style = if results.failed() + results.unusable() > 0 { Style::Bad } else { Style::Good };
    let painted = console.paint(style, &summary);
    console.line(&painted)
}

/// One JSON document.
pub(crate) fn print_json(results: &Results, console: &mut Console) -> Result<(), Failure> {
    let mut json = serde_json::to_value(results).map_err(|error| Failure::Failed(error.to_string()))?;
    if let Some(object) = json.as_object_mut() {
        object.insert("passed".into(), results.passed().into());
        object.insert("failed".into(), results.failed().into());
        object.insert("unusable".into(), results.unusable().into());
    }
    let text = serde_json::to_string_pretty(&json).map_err(|error| Failure::Failed(error.to_string()))?;
    console.line(&text)
}

fn print_file(file: &FileResult, console: &mut Console) -> Result<(), Failure> {
    let title = console.paint(Style::Bold, &file.file);
    console.line(&title)?;
    if let Some(problem) = &file.problem {
        for line in problem.trim_end().lines() {
            console.line(format!("  {line}").trim_end())?;
        }
    }
    for scenario in &file.scenarios {
        print_scenario(scenario, console)?;
    }
    console.line("")
}

fn print_scenario(scenario: &ScenarioResult, console: &mut Console) -> Result<(), Failure> {
    let verdict = if scenario.passed {
        console.paint(Style::Good, "ok    ")
    } else {
        console.paint(Style::Bad, "FAILED")
    };
    console.line(&format!("  {verdict}  {}", scenario.name))?;
    for failure in &scenario.failures {
        console
            .line(&format!("          line {}, after {}: {}", failure.line, failure.stimulus, failure.at))?;
        console.line(&format!("            expected  {}", failure.expected))?;
        console.line(&format!("            actual    {}", failure.actual))?;
    }
    for fault in &scenario.faults {
        let title = console.paint(Style::Notice, "fault");
        console.line(&format!("          {title}: {fault}"))?;
    }
    Ok(())
}

fn print_coverage(coverage: &ChartCoverage, console: &mut Console) -> Result<(), Failure> {
    let (states, transitions) = (&coverage.states, &coverage.transitions);
    let title = console.paint(Style::Bold, &format!("coverage of {}: {}%", coverage.chart, coverage.percent));
    console.line(&format!(
        "{title} ({} of {} states, {} of {} transitions)",
        states.covered, states.total, transitions.covered, transitions.total
    ))?;
    print_missing("states never entered", states, console)?;
    print_missing("transitions never taken", transitions, console)?;
    console.line("")
}

fn print_missing(title: &str, covered: &Covered, console: &mut Console) -> Result<(), Failure> {
    if covered.missing.is_empty() {
        return Ok(());
    }
    let title = console.paint(Style::Notice, title);
    console.line(&format!("  {title}:"))?;
    for name in &covered.missing {
        console.line(&format!("    {name}"))?;
    }
    Ok(())
}

fn summary(results: &Results) -> String {
    let mut parts = Vec::new();
    if results.passed() + results.failed() > 0 {
        let total = count(results.passed() + results.failed(), "scenario");
        parts.push(format!("{total}: {} passed", results.passed()));
    }
    if results.failed() > 0 {
        parts.push(format!("{} failed", results.failed()));
    }
    if results.unusable() > 0 {
        parts.push(format!("{} could not be run", count(results.unusable(), "file")));
    }
    if parts.is_empty() { "no scenarios".to_owned() } else { parts.join(", ") }
}

/// `1 scenario`, `2 scenarios`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
