//! Pruning: removes ended instances, with their descendants and everything that belongs only to them. First a plan,
//! which changes nothing, then the removal.

mod blobs;
mod plan;
mod remove;

use crate::StoreError;
use crate::{InstanceKey, Outcome};

use super::SqliteStore;

/// Selects the ended instances to remove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Instances whose last record is older.
    pub ended_before_ms: Option<i64>,
    /// Instances with one of these outcomes; empty: any.
    pub outcomes: Vec<Outcome>,
    /// The oldest, regardless of age, until the store has about this size.
    pub size_max_bytes: Option<u64>,
}

/// A root instance to remove, with its descendants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prunable {
    /// Key of the root, for [`SqliteStore::prune`].
    pub key: InstanceKey,
    /// Id of the root.
    pub id: String,
    /// Outcome of the root; derived from its status in stores of releases that did not record outcomes.
    pub outcome: Outcome,
    /// Time of the root's last record, in milliseconds since 1970 UTC.
    pub ended_ms: i64,
    /// Including descendants.
    pub instances: u64,
    /// Number of journal records, including those of descendants.
    pub records: u64,
    /// Approximate size. Shared values are counted once.
    pub bytes: u64,
}

/// The removed instances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Number of removed instances, including descendants.
    pub instances: u64,
    /// Number of removed journal records.
    pub records: u64,
    /// Number of removed blobs; blobs that other instances refer to are kept.
    pub blobs: u64,
}

impl SqliteStore {
    /// Returns the instances to remove, oldest first.
    pub fn prunable(&self, retention: &Retention) -> Result<Vec<Prunable>, StoreError> {
        let bytes = self.used_bytes()?;
        self.read(|connection| plan::plan(connection, retention, bytes))
    }

    /// Removes these roots with their descendants. Fails without removing any if one has not ended.
    /// [`SqliteStore::shrink`] then reduces the file.
    pub fn prune(&self, roots: &[InstanceKey]) -> Result<Pruned, StoreError> {
        self.write_side()?.prune(roots)
    }

    /// Returns free space to the file system. The first call rewrites the whole file with a page map, which lets later
    /// calls move only the necessary pages.
    pub fn shrink(&self) -> Result<(), StoreError> {
        self.write_side()?.shrink()
    }

    /// Returns the size of the used pages of the file.
    pub fn used_bytes(&self) -> Result<u64, StoreError> {
        self.read(|connection| -> rusqlite::Result<u64> {
            let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            let pages = number("page_count")?.saturating_sub(number("freelist_count")?);
            Ok(u64::try_from(pages.saturating_mul(number("page_size")?)).unwrap_or(0))
        })
    }
}
