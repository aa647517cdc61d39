//! `Receipt`: the outcome of an input for its sender, valid once its transaction is committed.

use std::sync::Arc;

use rawko_core::Status;
use serde::{Deserialize, Serialize};

/// The outcome of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Instance id.
    pub instance: Arc<str>,
    /// Step number after the input.
    pub step: u64,
    /// True if a transition took the event.
    pub handled: bool,
    /// True if the instance is paused: the event is stored and applied when it is resumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub queued: bool,
    /// Status after the input.
    pub status: Status,
}
