//! The project's checks: commands with countable results. The commands come from settings or are detected from the
//! project; the number of errors comes from structured results.

mod base;
mod bytecode;
mod control;
mod custody;
mod definition;
mod detect;
mod doubts;
mod embedded;
mod exits;
mod formats;
mod guards;
mod hidden_failures;
mod influence;
mod installed;
mod judged;
mod lsp;
mod makefile;
mod named;
pub(crate) mod process;
mod report;
mod run;
mod settings_of;
mod stamps;
mod suppressions;
mod switches;
mod tools;
mod tree;

pub use base::{CheckBase, KeptFile, TestCount};
pub use control::Control;
pub use custody::{Closing, Custodies, Custody, CustodyResult};
pub use definition::{CheckFormat, CheckProblems, ProjectCheck, of_settings};
pub use detect::detect;
pub use doubts::Doubts;
pub use formats::{CheckCount, CheckOutput, TestNames, count};
pub use guards::Guards;
pub use hidden_failures::HiddenFailures;
pub use installed::installed_language_servers;
pub use lsp::LanguageServers;
pub use report::{CheckFinding, CheckReport, CheckResult};
pub use run::run_all;
pub use stamps::refresh_times;
pub use tree::tree_hash;
pub(crate) use tree::{is_generated, walk_files};
