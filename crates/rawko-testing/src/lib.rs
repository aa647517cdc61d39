//! Scenarios as a library: what a chart should do, run from any `cargo test`.
#![doc = include_str!("docs/crate.md")]
#![warn(missing_docs)]

mod compare;
mod coverage;
mod crash;
mod error;
mod faults;
pub mod find;
mod health;
mod junit;
mod model;
mod model_faults;
mod plan;
mod play;
mod read;
mod report;
mod source;
mod suite;
mod text;

use std::path::Path;

pub use error::TestError;
pub use plan::ScenarioPlan;
pub use report::{
    ChartCoverage, FileReport, ItemCoverage, ScenarioReport, StepDifference, TestReport, VariantFailure,
    VariantReport,
};
pub use suite::{ProjectContent, Suite};
pub use text::Tone;

/// Runs the scenario files that a path means: one file, those beside a chart, or all below a directory.
pub fn run(path: impl AsRef<Path>) -> Result<TestReport, TestError> {
    Ok(Suite::load(path)?.run())
}

/// Runs scenario files and panics with the report if one fails. A relative path starts at the directory of the package,
/// where `cargo test` runs tests.
#[track_caller]
pub fn assert_scenarios(path: impl AsRef<Path>) {
    match Suite::load(path).map(|suite| suite.without_coverage().run()) {
        Ok(report) => assert!(report.is_success(), "\n{report}"),
        Err(error) => panic!("{error}"),
    }
}
