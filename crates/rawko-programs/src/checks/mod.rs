//! The project's checks: commands with countable results. The commands come from settings or are detected from the
//! project; the number of errors comes from structured results.

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
