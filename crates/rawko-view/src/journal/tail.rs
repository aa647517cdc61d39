//! `Tail`: the end of the journal as it grows, for whoever follows an instance. Reads only the store, so that it works
//! beside a host in this process or in another one.

use std::sync::Arc;

use rawko_core::World;
use rawko_host::Reader;

use super::{Entry, Player, Tree};
use crate::error::ViewError;

/// Records read at once.
const RECORDS_PER_READ: usize = 512;

pub struct Tail {
    reader: Reader,
    tree: Tree,
    player: Player,
    /// The last record that was read.
    seq: u64,
}

impl Tail {
    /// What comes after `seq`.
    pub fn after(seq: u64, reader: &Reader, tree: Tree, explaining: Option<World>) -> Self {
        Self { reader: reader.clone(), tree, player: Player::new(reader.clone(), explaining), seq }
    }

    /// Everything that has come since the last time, each entry with the name its instance has in the tree.
    pub fn read<E: From<ViewError>>(
        &mut self,
        mut each: impl FnMut(&Entry, &Arc<str>) -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            let records = self.reader.store().tail(self.seq, RECORDS_PER_READ).map_err(ViewError::from)?;
            for record in &records {
                self.seq = record.seq;
                let store = Arc::clone(self.reader.store());
                if let Some(name) = self.tree.name(record.instance, &*store).map_err(ViewError::from)? {
                    let entry = self.player.entry(record)?;
                    each(&entry, &name)?;
                }
            }
            if records.len() < RECORDS_PER_READ {
                return Ok(());
            }
        }
    }

    /// Goes on with another way to the same store.
    pub fn seq(&self) -> u64 {
        self.seq
    }
}
