//! The project's checks: commands whose results are counted, not guessed. What to run comes from the settings or from
//! what the project looks like; how many errors there are comes from structured results.

mod definition;
mod detect;
mod formats;
mod lsp;
mod process;
mod report;
mod run;

pub use definition::{Check, Format, Problems, of_settings};
pub use detect::detect;
pub use formats::{Counted, Output, count};
pub use report::{CheckFinding, CheckReport, CheckResult};
pub use run::run_all;
