//! Prints a test report for a person or a program.

use rawko_testing::{TestReport, Tone};

use crate::console::{Console, TextStyle};
use crate::failure::CommandFailure;

/// Prints files, scenarios, differences, coverage and totals.
pub(crate) fn print_text(report: &TestReport, console: &mut Console) -> Result<(), CommandFailure> {
    let text = report.to_text(&|tone, text| console.paint(style(tone), text));
    console.data(&text)
}

/// Prints one JSON document.
pub(crate) fn print_json(report: &TestReport, console: &mut Console) -> Result<(), CommandFailure> {
    let text = serde_json::to_string_pretty(&report.to_json())
        .map_err(|error| CommandFailure::Failed(error.to_string()))?;
    console.line(&text)
}

fn style(tone: Tone) -> TextStyle {
    match tone {
        Tone::Title => TextStyle::Bold,
        Tone::Good => TextStyle::Good,
        Tone::Bad => TextStyle::Bad,
        Tone::Notice => TextStyle::Notice,
    }
}

/// Formats a number with its noun: `1 scenario`, `2 scenarios`.
pub(crate) fn count(number: impl std::fmt::Display, noun: &str) -> String {
    let number = number.to_string();
    let ending = if number == "1" { "" } else { "s" };
    format!("{number} {noun}{ending}")
}
