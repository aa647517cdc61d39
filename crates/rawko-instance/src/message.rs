//! `StoredMessage`: an event from one instance to another, or to itself. Committed with the step that sent it and removed
//! with the step that takes it.

use std::sync::Arc;

use rawko_core::Event;
use serde::{Deserialize, Serialize};

use crate::ledger::Spent;

/// A stored message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredMessage {
    /// Event to deliver.
    pub event: Event,
    /// The id of the effect that sent it, `instance/step/index`: a message with the same key is handled once. Empty for
    /// messages of stores that had no keys.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub key: Arc<str>,
    /// The child whose result this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Arc<str>>,
    /// The usage of that child.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub spent: Spent,
}

impl StoredMessage {
    /// Returns true if this instance sent it to itself.
    pub(crate) fn is_from(&self, id: &str) -> bool {
        self.key.strip_prefix(id).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Returns the key under which it is recorded as handled; distinct from the keys of callers.
    pub(crate) fn delivery_key(&self) -> Option<Arc<str>> {
        Self::key_of(&self.key)
    }

    pub(crate) fn key_of(key: &str) -> Option<Arc<str>> {
        (!key.is_empty()).then(|| format!("from:{key}").into())
    }
}

/// Returns a caller's key. One that looks like a message's key is escaped, so that no caller can block a message.
pub(crate) fn outside_key(key: &Arc<str>) -> Arc<str> {
    if key.starts_with("from:") || key.starts_with("key:") {
        format!("key:{key}").into()
    } else {
        Arc::clone(key)
    }
}
