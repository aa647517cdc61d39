//! Reads settings: values with a finding for each that is wrong, sections that other crates interpret, and the
//! environment variables they refer to. Separate from the host, so that providers, tools and agents read their own
//! sections without linking a runtime.

mod confinement;
mod environment;
mod reader;
mod redactor;
mod section;
mod size;

pub use environment::{Environment, is_variable_name};
pub use reader::{Reader as SettingsReader, SIZE_HELP, quoted};
pub use redactor::Redactor;
pub use section::{Section, SectionSource};
pub use size::parse_size;
