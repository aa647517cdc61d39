//! What lies in an instance's mailbox: an event, where it comes from, and who wants to know what became of it.

use std::borrow::Cow;
use std::sync::Arc;

use rawko_core::{Event, Status};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::error::HostError;
use crate::ledger::Spent;

/// What became of a delivery, once it is on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub instance: Arc<str>,
    pub step: u64,
    /// Whether a transition took it.
    pub handled: bool,
    pub status: Status,
}

pub(crate) type Reply = oneshot::Sender<Result<Receipt, HostError>>;

#[derive(Debug)]
pub(crate) struct Delivery {
    /// `None`: an effect is over that nobody waited for, and there is nothing to tell.
    pub(crate) event: Option<Event>,
    pub(crate) source: Source,
    pub(crate) reply: Option<Reply>,
}

/// Where a delivery comes from, which says how it is taken only once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    /// Somebody outside; with a key of theirs, the same delivery again is recognised.
    Outside { key: Option<Arc<str>> },
    /// An event that another step committed. `child`: it is the result of this child.
    Inbound { seq: i64, child: Option<Arc<str>>, spent: Spent },
    /// The result of an effect of this instance.
    Effect { step: u64, index: u32, note: EffectNote },
}

/// What the audit says about an effect that is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectNote {
    pub decision: Cow<'static, str>,
    pub reason: String,
    /// The call may have happened: its key is kept for the next attempt.
    pub outcome_open: bool,
}

/// An inbound event as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Letter {
    pub event: Event,
    /// It is the result of this child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Arc<str>>,
    /// What the child has spent.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub spent: Spent,
}
