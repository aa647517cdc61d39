//! `StoredMessage`: an event from one instance to another, or to itself. Committed with the step that sent it and removed
//! with the step that takes it.

use std::sync::Arc;

use rawko_core::Event;
use serde::{Deserialize, Serialize};

use crate::ledger::Spent;
use crate::limits::InstanceLimits;

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
    /// The messages that led to it.
    #[serde(default, skip_serializing_if = "MessageChain::is_empty")]
    pub chain: MessageChain,
}

/// Messages between instances that led to a message, with no delay, no finished call and no input from outside in
/// between. Bounds instances that answer each other without end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MessageChain {
    /// Length of the chain.
    pub hops: u32,
    /// Product of the numbers of messages sent at each of its steps; 0 for none.
    pub width: u32,
}

impl MessageChain {
    /// Returns true if no message led to it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the chain of a message that a step sends as one of `sends`.
    pub(crate) fn next(self, sends: u32) -> Self {
        Self { hops: self.hops.saturating_add(1), width: self.width.max(1).saturating_mul(sends.max(1)) }
    }

    /// Returns the reason that a message with this chain is not sent.
    pub(crate) fn exceeded(self, limits: &InstanceLimits) -> Option<String> {
        let (hops, messages) = (limits.message_hops_max, limits.messages_per_cause_max);
        if self.hops > hops {
            return Some(format!("more than {hops} messages in a row without a delay: a runaway loop"));
        }
        let exceeds = self.width > messages;
        exceeds
            .then(|| format!("more than {messages} messages from one cause without a delay: a runaway loop"))
    }
}

impl StoredMessage {
    /// Returns the id of the instance that sent it; `None` for messages of stores that had no keys.
    pub(crate) fn sender(&self) -> Option<&str> {
        let mut parts = self.key.rsplitn(3, '/');
        parts.nth(2)
    }

    /// Returns true for usage that a child passes on: it has the key of the instance that it is about.
    pub(crate) fn is_late_usage(&self) -> bool {
        self.child.as_deref().is_some_and(|child| self.sender().is_some_and(|sender| sender != child))
    }

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
