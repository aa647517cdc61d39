//! Prints a test report for a person or a program.

use rawko_testing::{TestReport, Tone};

use crate::console::{Console, Style};
use crate::failure::Failure;

/// Prints files, scenarios, differences, coverage and totals.
pub(crate) fn print_text(report: &TestReport, console: &mut Console) -> Result<(), Failure> {
    let text = report.to_text(&|tone, text| console.paint(style(tone), text));
    console.data(&text)
}

/// Prints one JSON document.
pub(crate) fn print_json(report: &TestReport, console: &mut Console) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(&report.to_json())
        .map_err(|error| Failure::Failed(error.to_string()))?;
    console.line(&text)
}

fn style(tone: Tone) -> Style {
    match tone {
        Tone::Title => Style::Bold,
        Tone::Good => Style::Good,
        Tone::Bad => Style::Bad,
        Tone::Notice => Style::Notice,
    }
}

/// Formats a number with its noun: `1 scenario`, `2 scenarios`.
pub(crate) fn count(number: impl std::fmt::Display, noun: &str) -> String {
    let number = number.to_string();
    let ending = if number == "1" { "" } else { "s" };
    format!("{number} {noun}{ending}")
}
