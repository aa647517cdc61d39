//! `Snapshots`: every committed step of an instance, in order. Read from the journal, so that a slow subscriber misses
//! nothing and holds nothing up.

use tokio::sync::watch;

use super::actor::Actor;
use super::error::Result;
use super::snapshot::Snapshot;

/// The snapshots of an actor, from the one at the time of the subscription. Returned by [`Actor::subscribe`].
pub struct Snapshots {
    actor: Actor,
    changes: watch::Receiver<u64>,
    next: u64,
    is_over: bool,
}

impl Snapshots {
    pub(super) fn new(actor: Actor) -> Result<Snapshots> {
        // Before the current step is read, so that no later one is missed.
        let changes = actor.host().changes();
        let next = actor.row()?.step;
        Ok(Snapshots { actor, changes, next, is_over: false })
    }

    /// Waits for the next step and returns its snapshot; `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<Snapshot>> {
        if self.is_over {
            return None;
        }
        loop {
            self.changes.borrow_and_update();
            match self.read() {
                Ok(None) => {}
                Ok(Some(snapshot)) => {
                    self.is_over = snapshot.is_over();
                    self.next = snapshot.step + 1;
                    return Some(Ok(snapshot));
                }
                Err(error) => {
                    self.is_over = true;
                    return Some(Err(error));
                }
            }
            if self.changes.changed().await.is_err() {
                return None;
            }
        }
    }

    fn read(&self) -> Result<Option<Snapshot>> {
        let row = self.actor.row()?;
        if row.step < self.next {
            return Ok(None);
        }
        let restored = self.actor.host().reader().snapshot(&row, Some(self.next))?;
        Ok(Some(Snapshot::of(&restored)))
    }
}
