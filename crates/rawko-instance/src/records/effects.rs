//! Open effects: operations of a host that an instance waits for. Separate from the other records, because drivers match
//! on their kinds.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::InstanceKey;

/// A pending or running operation of the host for an instance, stored until it ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenEffect {
    /// Instance that waits for the effect.
    pub instance: InstanceKey,
    /// `(step, index)`: with the instance's id this forms the effect's id and idempotency key.
    pub step: u64,
    /// Position among the effects of the step.
    pub index: u32,
    /// Kind of the operation.
    pub kind: EffectKind,
    /// The invocation that waits for the result; a call or a send has none.
    pub invocation: Option<u64>,
    /// The service, chart, agent or endpoint, as the chart names it.
    pub name: Arc<str>,
    /// The effect as JSON, packed.
    pub body: String,
    /// Time of the commit that opened it, in milliseconds since the Unix epoch.
    pub opened_ms: i64,
    /// Expiry time (approvals).
    pub due_ms: Option<i64>,
    /// The idempotency key. An attempt whose predecessor has an unknown outcome keeps that one's key.
    pub idempotency: Arc<str>,
    /// The result for its instance, as packed JSON, for a call that was refused before it started; else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub result: String,
    /// A stopping driver did not start the call, or a pause stopped it: it runs at the next start or the resume.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parked: bool,
    /// An earlier run under the same key may have happened, so a failure of this one is not conclusive.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_doubt: bool,
}

impl OpenEffect {
    /// Returns true for a call without a result: it runs, or a driver that stopped has parked it.
    pub fn is_running(&self) -> bool {
        let is_call = match self.kind {
            EffectKind::Service | EffectKind::Agent | EffectKind::Call | EffectKind::Send => true,
            // A child continues by itself, a person's request is still pending, an unknown outcome waits for the next
            // attempt, a held input for the resume.
            EffectKind::Child | EffectKind::Person | EffectKind::Unknown | EffectKind::Held => false,
        };
        is_call && self.result.is_empty()
    }
}

/// The kind of an open effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    /// A service call with a waiting invocation.
    Service,
    /// An agent that is a service.
    Agent,
    /// A child instance.
    Child,
    /// A request to a person.
    Person,
    /// An action that calls a handler without waiting.
    Call,
    /// A send to an endpoint, a channel or an agent.
    Send,
    /// The last attempt of an invocation ended without a response: not running, its key is kept for the next attempt.
    Unknown,
    /// Not an operation: an event or a message that arrived while the instance was paused.
    Held,
}

impl EffectKind {
    /// All variants, for parsers and lists.
    pub const ALL: [EffectKind; 8] = [
        EffectKind::Service,
        EffectKind::Agent,
        EffectKind::Child,
        EffectKind::Person,
        EffectKind::Call,
        EffectKind::Send,
        EffectKind::Unknown,
        EffectKind::Held,
    ];

    /// Returns the name used in the store and the API.
    pub fn as_str(self) -> &'static str {
        match self {
            EffectKind::Service => "service",
            EffectKind::Agent => "agent",
            EffectKind::Child => "child",
            EffectKind::Person => "person",
            EffectKind::Call => "call",
            EffectKind::Send => "send",
            EffectKind::Unknown => "unknown",
            EffectKind::Held => "held",
        }
    }
}
