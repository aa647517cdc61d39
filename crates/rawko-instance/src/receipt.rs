//! `Receipt`: the outcome of an input for its sender, valid once its transaction is committed.

use std::sync::Arc;

use rawko_core::Status;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub instance: Arc<str>,
    pub step: u64,
    /// True if a transition took the event.
    pub handled: bool,
    pub status: Status,
}
