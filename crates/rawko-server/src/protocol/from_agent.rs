//! Messages from agents.

use rawko_turns::WaitUntil;
#[cfg(feature = "http")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A message from an agent. `id` is chosen by the agent: responses repeat it, and duplicates are applied once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromAgent {
    /// The first message of a connection.
    Register {
        /// Version of the protocol, 1.
        protocol: u32,
        /// Name of the agent: letters, digits, `-` and `_`.
        agent: String,
        /// Token of the agent, if the server requires one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
        /// Session of the previous connection: with it the agent resumes its state.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// Receive messages of others while waiting for the turn. They are sent with the turn in any case.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        observe: Option<bool>,
    },
    /// Heartbeat. Every other message counts as one too.
    Heartbeat {},
    /// Posts a message. Text that ends in the word TURN_COMPLETE completes the turn.
    Message {
        /// Channel name.
        channel: String,
        /// Message text.
        text: String,
        /// Turn that the message belongs to; the current one if omitted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u64>,
        /// Deduplication id; the response repeats it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// Completes the agent's turn without a message.
    TurnComplete {
        /// Channel name.
        channel: String,
        /// Turn to complete; the current one if omitted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u64>,
        /// Deduplication id; the response repeats it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// Suspends the agent's turn. No other agent gets it meanwhile.
    Wait {
        /// Channel name.
        channel: String,
        /// Turn to suspend; the current one if omitted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u64>,
        /// Reason for people.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
        /// Condition that ends the wait; only the agent itself if omitted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Until>,
        /// Time after which the turn is forfeited; the channel's own limit applies if it is shorter.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_seconds: Option<f64>,
        /// Deduplication id; the response repeats it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// Resumes a waiting turn.
    Resumed {
        /// Channel name.
        channel: String,
        /// Turn to resume; the current one if omitted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u64>,
        /// Deduplication id; the response repeats it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// Requests messages of a channel that the agent is in.
    History {
        /// Channel name.
        channel: String,
        /// Only messages with a number above this one.
        #[serde(default)]
        after: u64,
        /// Maximum number of messages.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
        /// Id that the response repeats.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// The agent stops. Without this message, a closed connection counts as broken.
    Goodbye {},
}

/// Condition that ends a wait. The agent can always end it itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// Only `resumed`.
    Resumed,
    /// The next message from another author.
    Message,
    /// The next message from a person.
    Person,
    /// A point in time, in milliseconds since 1970.
    Time(i64),
}

impl From<Until> for WaitUntil {
    fn from(until: Until) -> Self {
        match until {
            Until::Resumed => WaitUntil::Resumed,
            Until::Message => WaitUntil::Message,
            Until::Person => WaitUntil::Person,
            Until::Time(at) => WaitUntil::Time(at),
        }
    }
}

impl FromAgent {
    /// Returns the agent's id of the message.
    pub fn id(&self) -> Option<&str> {
        match self {
            FromAgent::Message { id, .. }
            | FromAgent::TurnComplete { id, .. }
            | FromAgent::Wait { id, .. }
            | FromAgent::Resumed { id, .. }
            | FromAgent::History { id, .. } => id.as_deref(),
            FromAgent::Register { .. } | FromAgent::Heartbeat {} | FromAgent::Goodbye {} => None,
        }
    }
}
