//! Turns text (YAML, JSON, SCXML, XState) into a checked chart with a span for every complaint, and draws it.

mod check;
pub mod codes;
mod def;
mod document;
pub mod draw;
mod finding;
pub mod import;
mod load;
mod lower;
mod lowered;
mod read;
mod registry;
pub mod render;
mod schema;
mod source;
mod suggest;
mod tree;
mod version;

pub use check::analyse;
pub use codes::Code;
pub use document::{Document, DocumentData, DocumentEntry};
pub use finding::{Finding, Severity};
pub use load::{Loaded, load, load_bytes, lower_source, source_from_bytes};
pub use lowered::{ActionPlaces, InvokePlaces, Lowered, NodePlaces, Places, TransitionPlaces};
pub use registry::{Registry, RegistryEntry, RegistryFile, Resolution, read_registry};
pub use schema::schema;
pub use source::{Source, Span};
pub use tree::{DEPTH_MAX, NODES_MAX, SOURCE_BYTES_MAX};
