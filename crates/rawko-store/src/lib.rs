//! The storage of rawko: records, the `Store` trait, a SQLite store and a memory store, the writer that lets many
//! instances share one fsync, and a conformance kit for authors of other stores.
//!
//! ```
//! use rawko_store::{Commit, Filter, InstanceKey, MemoryStore, NewInstance, Store};
//!
//! let store = MemoryStore::new();
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
//! let commit = Commit { instance: InstanceKey(1), create: Some(Box::new(new)), ..Commit::default() };
//! store.commit(&[commit])?;
//!
//! assert_eq!(store.find("order-17")?.map(|row| row.key), Some(InstanceKey(1)));
//! assert_eq!(store.list(&Filter::default())?.total, 1);
//! # Ok::<(), rawko_store::StoreError>(())
//! ```
#![warn(missing_docs)]

pub mod chain;
pub mod conformance;
#[cfg(feature = "sqlite")]
mod lock;
mod memory;
mod references;
#[cfg(feature = "sqlite")]
mod report;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
mod transfer;
mod writer;

#[cfg(feature = "sqlite")]
pub use lock::{Lock, LockHolder};
pub use memory::MemoryStore;
/// The content of a commit, defined by the machine that fills it.
pub use rawko_instance::records::*;
pub use rawko_instance::{FamilySize, InstanceStatus, StoreError, content};
#[cfg(feature = "sqlite")]
pub use report::{ChainKind, ChainProblem, ChainReport};
#[cfg(feature = "sqlite")]
pub use sqlite::{Prunable, Pruned, RestoreReport, Retention, SqliteOptions, SqliteStore, StoreCheck};
pub use store::{
    ChangedInstances, DamagePart, DrivenInstances, Filter, HighestNumbers, InstancePage, InstanceTally,
    SnapshotBase, Store, StoreReport,
};
pub use transfer::{FamilyMember, InstanceFamily, ReadExportError};
pub use writer::CommitWriter;
