//! `CallTicket`: the caller's side of one call. Dropping it cancels the call wherever it is.

use rawko_core::Value;
use tokio::sync::{oneshot, watch};

use super::{RemoteServices, ServiceError};

/// The place of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TicketStage {
    /// In the queue. `was_sent`: a program that is gone received it before.
    Waiting { was_sent: bool },
    /// A program has it.
    Running,
    /// The connection of its program is closed.
    Lost,
}

pub(super) type RemoteResult = Result<Value, ServiceError>;

pub(super) struct CallTicket {
    pub(super) pool: RemoteServices,
    pub(super) id: u64,
    pub(super) stages: watch::Receiver<TicketStage>,
    pub(super) result: oneshot::Receiver<RemoteResult>,
}

impl CallTicket {
    pub(super) fn stage(&self) -> TicketStage {
        *self.stages.borrow()
    }

    pub(super) fn was_sent(&self) -> bool {
        self.stage() != TicketStage::Waiting { was_sent: false }
    }

    /// Returns the result, or `None` once the stage differs from `known`.
    pub(super) async fn next(&mut self, known: TicketStage) -> Option<RemoteResult> {
        let mut stages = self.stages.clone();
        let changed = async move { drop(stages.wait_for(|stage| *stage != known).await) };
        tokio::select! {
            biased;
            result = &mut self.result => match result {
                Ok(result) => Some(result),
                // The pool keeps the sender until it answers.
                Err(_) => Some(Err(ServiceError::not_here("the queue of remote services was closed"))),
            },
            () = changed => None,
        }
    }

    /// Puts the call of a lost program back into the queue, with the same key.
    pub(super) fn requeue(&self) {
        self.pool.requeue(self.id);
    }
}

impl Drop for CallTicket {
    fn drop(&mut self) {
        self.pool.cancel(self.id);
    }
}
