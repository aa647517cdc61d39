//! Read models of instances: lists, current state, journal. The terminal and the page share this data; only the
//! presentation is theirs.
//!
//! ```
//! use rawko_store::{Head, InstanceKey, InstanceRow, InstanceStatus, NewInstance, WaitReason};
//! use rawko_view::rows::Row;
//!
//! let new = NewInstance {
//!     id: "order-17".into(),
//!     chart: [7; 16],
//!     chart_id: "order".into(),
//!     version: "1.0.0".into(),
//!     parent: None,
//!     origin: None,
//!     created_ms: 1_000,
//!     policy: "".into(),
//! };
//! let head = Head { wait: WaitReason::Person, ..Head::default() };
//! let stored = InstanceRow { key: InstanceKey(1), new, head, step: 3, updated_ms: 2_000 };
//!
//! let row = Row::of(&stored);
//! assert_eq!((row.chart.as_str(), row.status), ("order", InstanceStatus::Waiting));
//! ```
#![warn(missing_docs)]

pub mod document;
mod error;
pub mod faults;
pub mod items;
pub mod journal;
pub mod list_index;
pub mod lists;
pub mod offers;
pub mod rows;
pub mod spending;
pub mod standing;
pub mod tasks;
pub mod times;
pub mod transcript;
pub mod triggers;
#[cfg(feature = "openapi")]
pub mod vocabulary;

pub use error::ViewError;
pub use rawko_core::explain;
