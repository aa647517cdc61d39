//! The project's checks: commands with countable results. The commands come from settings or are detected from the
//! project; the number of errors comes from structured results.

mod base;
mod definition;
mod detect;
mod doubts;
mod formats;
mod installed;
mod lsp;
mod makefile;
mod named;
mod process;
mod report;
mod run;
mod settings_of;
mod tools;
mod tree;

pub use base::{Base, KeptFile};
pub use definition::{Check, Format, Problems, of_settings};
pub use detect::detect;
pub use doubts::Doubts;
pub use formats::{Counted, Output, count};
pub use installed::installed_language_servers;
pub use lsp::LanguageServers;
pub use report::{CheckFinding, CheckReport, CheckResult};
pub use run::run_all;
pub use tree::tree_hash;
pub(crate) use tree::{is_generated, walk_files};
