//! `Receipt`: the driver's proof of what an input did, valid once its transaction is committed.

use std::sync::Arc;

use rawko_core::Status;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub instance: Arc<str>,
    pub step: u64,
    /// Whether a transition took the event.
    pub handled: bool,
    pub status: Status,
}
