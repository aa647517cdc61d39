//! The storage of rawko: records, the `Store` trait, a SQLite store and a memory store, the writer that lets many
//! instances share one fsync, and a conformance kit for authors of other stores.

pub mod chain;
pub mod conformance;
#[cfg(feature = "sqlite")]
mod lock;
mod memory;
#[cfg(feature = "sqlite")]
mod references;
#[cfg(feature = "sqlite")]
mod report;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
mod transfer;
mod writer;

#[cfg(feature = "sqlite")]
pub use lock::{Holder, Lock};
pub use memory::MemoryStore;
/// The content of a commit, defined by the machine that fills it.
pub use rawko_instance::records::*;
pub use rawko_instance::{InstanceStatus, StoreError, content};
#[cfg(feature = "sqlite")]
pub use report::{ChainKind, ChainProblem, ChainReport};
#[cfg(feature = "sqlite")]
pub use sqlite::{Options, Prunable, Pruned, Restored, Retention, SqliteStore};
pub use store::{Base, Driven, Filter, Marks, Page, Report, Store, Tally};
pub use transfer::{Family, Member, ReadExportError};
pub use writer::Writer;
