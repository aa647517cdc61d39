//! What a person is shown of instances, as data: lists, how one stands, its journal. The terminal and the page show the
//! same things from here; how they look is theirs.

pub mod document;
mod error;
pub mod faults;
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
