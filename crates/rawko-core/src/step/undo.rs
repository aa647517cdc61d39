//! `Undo`: what a failed step needs to put the snapshot back. Filled only by what the step really touches.

use smallvec::SmallVec;

use crate::configuration::Configuration;
use crate::ids::Slot;
use crate::snapshot::{More, Snapshot, Status};
use crate::value::Value;

/// How many notes are searched before a slot is noted again.
const LOOK_BACK: usize = 16;

pub(super) struct Undo {
    status: Status,
    configuration: Configuration,
    /// What each slot that was written held before, in order of writing.
    context: SmallVec<[(Slot, Value); 4]>,
    more: Option<Option<Box<More>>>,
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

    /// Writes a slot of the context.
    #[inline]
    pub(super) fn write(&mut self, snapshot: &mut Snapshot, slot: Slot, value: Value) {
        let old = std::mem::replace(&mut snapshot.context[slot.index()], value);
        // Looking further would cost more than a second note; `restore` lets the first one win.
        if !self.context.iter().take(LOOK_BACK).any(|(known, _)| *known == slot) {
            self.context.push((slot, old));
        }
    }

    /// The rarer parts, about to be written.
    pub(super) fn more_mut<'s>(&mut self, snapshot: &'s mut Snapshot) -> &'s mut More {
        if self.more.is_none() {
            self.more = Some(snapshot.more.clone());
        }
        snapshot.more.get_or_insert_default()
    }

    /// Puts everything back, the step number included.
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
