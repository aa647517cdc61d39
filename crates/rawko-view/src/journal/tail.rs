//! `JournalTail`: follows the end of the journal as it grows. It only reads the store, so it works with a host in this process
//! or in another one.

use std::sync::Arc;

use rawko_core::World;
use rawko_host::SnapshotReader;

use super::{InstanceTree, JournalEntry, Player};
use crate::error::ViewError;

/// Records per read.
const RECORDS_PER_READ: usize = 512;

/// Reads new entries of an instance tree, from a position in the journal.
pub struct JournalTail {
    reader: SnapshotReader,
    tree: InstanceTree,
    player: Player,
    /// Sequence number of the last record read.
    seq: u64,
}

impl JournalTail {
    /// Starts after `seq`.
    pub fn after(seq: u64, reader: &SnapshotReader, tree: InstanceTree, explaining: Option<World>) -> Self {
        Self { reader: reader.clone(), tree, player: Player::new(reader.clone(), explaining), seq }
    }

    /// Passes all new entries to `each`, with the name of their instance in the tree. Entries that are written meanwhile
    /// are left for the next call.
    pub fn read<E: From<ViewError>>(
        &mut self,
        mut each: impl FnMut(&JournalEntry, &Arc<str>) -> Result<(), E>,
    ) -> Result<(), E> {
        let last = self.last()?;
        while self.read_batch(&mut each)? && self.seq < last {}
        Ok(())
    }

    /// Passes the next new entries to `each`. Returns true if there may be more: a caller that has other work does it
    /// in between, because a busy host writes faster than its journal is read.
    pub fn read_batch<E: From<ViewError>>(
        &mut self,
        mut each: impl FnMut(&JournalEntry, &Arc<str>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let records = self.reader.store().tail(self.seq, RECORDS_PER_READ).map_err(ViewError::from)?;
        for record in &records {
            self.seq = record.seq;
            let store = Arc::clone(self.reader.store());
            if let Some(name) = self.tree.name(record.instance, &*store).map_err(ViewError::from)? {
                let entry = self.player.entry(record)?;
                each(&entry, &name)?;
            }
        }
        Ok(records.len() == RECORDS_PER_READ)
    }

    /// Returns the position of the newest record.
    pub fn last(&self) -> Result<u64, ViewError> {
        Ok(self.reader.store().last_seq()?)
    }

    /// Returns the position, so that another reader of the same store can continue.
    pub fn seq(&self) -> u64 {
        self.seq
    }
}
