//! `Undo`: what a failed step needs to put the snapshot back. Filled only by what the step really touches.

use crate::configuration::Configuration;
use crate::snapshot::{More, Snapshot, Status};
use crate::value::Value;

pub(super) struct Undo {
    status: Status,
    configuration: Configuration,
    context: Option<Box<[Value]>>,
    more: Option<Option<Box<More>>>,
}

impl Undo {
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        Self {
            status: snapshot.status,
            configuration: snapshot.configuration.clone(),
            context: None,
            more: None,
        }
    }

    /// The context, about to be written.
    #[inline]
    pub(super) fn context_mut<'s>(&mut self, snapshot: &'s mut Snapshot) -> &'s mut [Value] {
        if self.context.is_none() {
            self.context = Some(snapshot.context.clone());
        }
        &mut snapshot.context
    }

    /// The rarer parts, about to be written.
    pub(super) fn more_mut<'s>(&mut self, snapshot: &'s mut Snapshot) -> &'s mut More {
        if self.more.is_none() {
            self.more = Some(snapshot.more.clone());
        }
        snapshot.more.get_or_insert_default()
    }

    /// Puts everything back, the step number included.
    pub(super) fn restore(self, snapshot: &mut Snapshot) {
        snapshot.status = self.status;
        snapshot.configuration = self.configuration;
        if let Some(context) = self.context {
            snapshot.context = context;
        }
        if let Some(more) = self.more {
            snapshot.more = more;
        }
        snapshot.step = snapshot.step.saturating_sub(1);
    }
}
