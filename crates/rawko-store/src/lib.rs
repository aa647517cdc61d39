//! What rawko keeps: records, the `Store` trait, a SQLite store and a memory store, the writer that lets many
//! instances share one fsync, and a conformance kit for whoever writes another store.

pub mod chain;
pub mod conformance;
pub mod content;
mod lock;
mod memory;
mod records;
mod references;
mod sqlite;
mod store;
mod transfer;
mod writer;

pub use lock::{Holder, Lock};
pub use memory::MemoryStore;
pub use records::*;
pub use sqlite::{Options, Prunable, Pruned, Restored, Retention, SqliteStore};
pub use store::{Base, Filter, Marks, Page, Report, Store, StoreError, Tally};
pub use transfer::{Family, Member, ReadExportError};
pub use writer::Writer;
