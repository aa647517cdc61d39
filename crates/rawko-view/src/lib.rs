//! Read models of instances: lists, current state, journal. The terminal and the page share this data; only the
//! presentation is theirs.

pub mod document;
mod error;
pub mod faults;
pub mod items;
pub mod journal;
pub mod offers;
pub mod rows;
pub mod standing;
pub mod tasks;
pub mod times;
pub mod transcript;
#[cfg(feature = "openapi")]
pub mod vocabulary;

pub use error::ViewError;
pub use rawko_core::explain;
