//! `Undo`: the data that a failed step needs to restore the snapshot. Holds only the parts that the step modified.

use smallvec::SmallVec;

use crate::configuration::Configuration;
use crate::ids::Slot;
use crate::snapshot::{RareParts, Snapshot, Status};
use crate::value::Value;

/// Number of entries searched before a slot is saved again.
const LOOK_BACK: usize = 16;

pub(super) struct Undo {
    status: Status,
    configuration: Configuration,
    /// The previous value of each written slot, in order of writing.
    context: SmallVec<[(Slot, Value); 4]>,
    more: Option<Option<Box<RareParts>>>,
}

impl Undo {
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        Self {
            status: snapshot.status,
            configuration: snapshot.configuration.clone(),
            context: SmallVec::new(),
            more: None,
        }
    }

    /// Adds slots that were written before this step set up its undo.
    pub(super) fn add_written(&mut self, written: SmallVec<[(Slot, Value); 4]>) {
        self.context = written;
    }

    /// Writes a slot of the context.
    #[inline]
    pub(super) fn write(&mut self, snapshot: &mut Snapshot, slot: Slot, value: Value) {
        let old = std::mem::replace(&mut snapshot.context[slot.index()], value);
        // Searching further would cost more than a second entry; `restore` gives precedence to the first one.
        if !self.context.iter().take(LOOK_BACK).any(|(known, _)| *known == slot) {
            self.context.push((slot, old));
        }
    }

    /// Returns the rarer parts for writing.
    pub(super) fn more_mut<'s>(&mut self, snapshot: &'s mut Snapshot) -> &'s mut RareParts {
        if self.more.is_none() {
            self.more = Some(snapshot.more.clone());
        }
        snapshot.more.get_or_insert_default()
    }

    /// Restores everything, including the step number.
    pub(super) fn restore(&mut self, snapshot: &mut Snapshot) {
        snapshot.status = self.status;
        snapshot.configuration = std::mem::take(&mut self.configuration);
        for (slot, value) in self.context.drain(..).rev() {
            snapshot.context[slot.index()] = value;
        }
        if let Some(more) = self.more.take() {
            snapshot.more = more;
        }
        snapshot.step = snapshot.step.saturating_sub(1);
    }
}
