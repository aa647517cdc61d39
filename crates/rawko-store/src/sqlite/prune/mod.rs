//! Pruning: instances that ended go, with their descendants and everything that belongs only to them. First a plan, which changes
//! nothing, then the removal.

mod blobs;
mod plan;
mod remove;

use crate::StoreError;
use crate::{InstanceKey, Outcome};

use super::SqliteStore;

/// Which of the instances that ended may go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Those whose last record is older.
    pub ended_before_ms: Option<i64>,
    /// Those with one of these outcomes; empty: any.
    pub outcomes: Vec<Outcome>,
    /// The oldest, whatever their age, until the store is about as small as this.
    pub size_max_bytes: Option<u64>,
}

/// A root instance that may go, with its descendants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prunable {
    pub key: InstanceKey,
    pub id: String,
    pub outcome: Outcome,
    pub ended_ms: i64,
    /// With its descendants.
    pub instances: u64,
    pub records: u64,
    /// About how much room it takes. What several share is counted once.
    pub bytes: u64,
}

/// What went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    pub instances: u64,
    pub records: u64,
    pub blobs: u64,
}

impl SqliteStore {
    /// The instances that may go, oldest first.
    pub fn prunable(&self, retention: &Retention) -> Result<Vec<Prunable>, StoreError> {
        let bytes = self.used_bytes()?;
        self.read(|connection| plan::plan(connection, retention, bytes))
    }

    /// Removes these roots with their descendants. One that has not ended is refused, and all others with it. The file becomes
    /// smaller with [`SqliteStore::shrink`].
    pub fn prune(&self, roots: &[InstanceKey]) -> Result<Pruned, StoreError> {
        self.write_side()?.prune(roots)
    }

    /// Gives the room of what was removed back to the file system. The first time the whole file is written anew, with a map of its
    /// pages that lets later ones move only what they must.
    pub fn shrink(&self) -> Result<(), StoreError> {
        self.write_side()?.shrink()
    }

    /// The pages of the file that hold something.
    pub fn used_bytes(&self) -> Result<u64, StoreError> {
        self.read(|connection| -> rusqlite::Result<u64> {
            let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            let pages = number("page_count")?.saturating_sub(number("freelist_count")?);
            Ok(u64::try_from(pages.saturating_mul(number("page_size")?)).unwrap_or(0))
        })
    }
}
