//! Turns text (YAML, JSON, SCXML, XState) into a checked chart with a span for every complaint, and draws it.

mod check;
pub mod codes;
mod finding;
mod lowered;
mod source;

pub use check::analyse;
pub use codes::Code;
pub use finding::{Finding, Severity};
pub use lowered::{ActionPlaces, InvokePlaces, Lowered, NodePlaces, Places, TransitionPlaces};
pub use source::{Source, Span};
