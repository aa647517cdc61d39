//! Turns text (YAML, JSON, SCXML, XState) into a checked chart with a span for every complaint, and draws it.

mod finding;
pub mod import;
mod lowered;
mod source;

pub use finding::{Finding, Severity};
pub use lowered::{ActionPlaces, InvokePlaces, Lowered, NodePlaces, Places, TransitionPlaces};
pub use source::{Source, Span};
