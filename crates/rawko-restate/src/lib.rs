//! The same charts on Restate: an instance is a virtual object, a step runs in its handler, timers and messages are
//! durable sends, and effects are calls that any worker can run. The planning is that of `rawko_instance`, the same as
//! on one machine.
//!
//! ```
//! use rawko_restate::layout;
//!
//! // A chart is stored under its hash, and an instance under its id.
//! let key = layout::hex(&[7; 16]);
//! assert_eq!(layout::from_hex(&key), Some([7; 16]));
//! assert_eq!((layout::CHART, layout::INSTANCE), ("RawkoChart", "RawkoInstance"));
//! ```
#![warn(missing_docs)]

pub mod client;
mod engine;
mod follower;
pub mod layout;
mod migrate;
mod probe;
pub mod store;
mod watcher;
#[cfg(feature = "worker")]
mod worker;

pub use engine::RestateEngine;
pub use probe::worker_responds;
#[cfg(feature = "worker")]
pub use worker::{Worker, WorkerBuilder, WorkerError};
