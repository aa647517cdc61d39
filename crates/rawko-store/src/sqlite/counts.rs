//! `StatusCounts`: totals and tallies of lists, kept until something that they count changes. Without them, each page of a
//! list reads the rows of all instances.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, Result};

use super::SqliteStore;
use crate::store::{Filter, InstanceTally};

/// Filters whose counts are kept; people look at few lists at a time.
const FILTERS_MAX: usize = 64;

#[derive(Default)]
pub(super) struct StatusCounts {
    known: Mutex<KnownCounts>,
}

#[derive(Default)]
struct KnownCounts {
    /// The version of the lists that these counts are of.
    version: u64,
    totals: Vec<(Filter, i64)>,
    tallies: Vec<(Filter, Vec<InstanceTally>)>,
}

impl StatusCounts {
    pub(super) fn total(
        &self,
        version: u64,
        filter: &Filter,
        count: impl FnOnce() -> Result<i64>,
    ) -> Result<i64> {
        let filter = Filter { before: None, limit: 0, ..filter.clone() };
        if let Some((_, total)) = self.of(version).totals.iter().find(|(known, _)| *known == filter) {
            return Ok(*total);
        }
        let total = count()?;
        let mut known = self.of(version);
        if known.version == version && known.totals.len() < FILTERS_MAX {
            known.totals.push((filter, total));
        }
        Ok(total)
    }

    pub(super) fn tally(
        &self,
        version: u64,
        filter: &Filter,
        count: impl FnOnce() -> Result<Vec<InstanceTally>>,
    ) -> Result<Vec<InstanceTally>> {
        let filter = Filter { before: None, limit: 0, ..filter.clone() };
        if let Some((_, tallies)) = self.of(version).tallies.iter().find(|(known, _)| *known == filter) {
            return Ok(tallies.clone());
        }
        let tallies = count()?;
        let mut known = self.of(version);
        if known.version == version && known.tallies.len() < FILTERS_MAX {
            known.tallies.push((filter, tallies.clone()));
        }
        Ok(tallies)
    }

    /// Returns the counts of this version, or of a later one if another reader was faster.
    fn of(&self, version: u64) -> MutexGuard<'_, KnownCounts> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.version < version {
            *known = KnownCounts { version, ..KnownCounts::default() };
        }
        known
    }
}

impl SqliteStore {
    /// Returns the version of the lists, for counts that are kept; `None` if other processes may write.
    pub(super) fn lists_version(&self) -> Option<u64> {
        self.owned.as_ref().map(|(_, published)| published.lists())
    }

    /// Returns the version if this handle still owns the file.
    pub(super) fn owned_version(&self, connection: &Connection, version: Option<u64>) -> Result<Option<u64>> {
        let Some((owner, _)) = &self.owned else { return Ok(None) };
        Ok(if owner.is_current(connection)? { version } else { None })
    }
}
