//! Reads settings: values with a finding for each that is wrong, sections that other crates interpret, and the
//! environment variables they refer to. Separate from the host, so that providers, tools and agents read their own
//! sections without linking a runtime.
//!
//! ```
//! use std::time::Duration;
//!
//! use rawko_chart::SpannedValue;
//! use rawko_settings::{Environment, SettingsReader};
//!
//! let settings = SpannedValue::read("timeout: 30s\nretries: many").unwrap();
//! let mut reader = SettingsReader::new(Environment::none());
//! let timeout = reader.duration(settings.get("timeout").unwrap(), "`timeout`");
//! assert_eq!(timeout, Some(Duration::from_secs(30)));
//!
//! assert_eq!(reader.whole(settings.get("retries").unwrap(), "`retries`", 0), None);
//! assert_eq!(reader.findings[0].message, "`retries` must be a whole number");
//! ```
#![warn(missing_docs)]

mod confinement;
mod environment;
mod host_rules;
mod reader;
mod redactor;
mod section;
mod size;
mod state;

pub use confinement::requires_sandbox;
pub use environment::{Environment, TOKEN_VARIABLE, is_variable_name};
pub use host_rules::program_host_rules;
pub use reader::{SIZE_HELP, SettingsReader, quoted};
pub use redactor::Redactor;
pub use section::{Section, SectionSource};
pub use size::parse_size;
pub use state::{NoStateDir, STATE_DIR_VARIABLE, StateDir, make_private, short_hash, write_private};
