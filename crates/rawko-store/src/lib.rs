//! What rawko keeps: records, the `Store` trait, a SQLite store and a memory store, the writer that lets many
//! instances share one fsync, and a conformance kit for whoever writes another store.

pub mod content;
mod memory;
mod records;
mod store;
mod writer;

pub use memory::MemoryStore;
pub use records::*;
pub use store::{Base, Filter, Marks, Page, Report, Store, StoreError};
pub use writer::Writer;
