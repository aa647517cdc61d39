//! What an agent says.

use rawko_turns::WaitUntil;
#[cfg(feature = "http")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A message from an agent. `id` is the agent's own: the answer names it, and the same message again is taken once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromAgent {
    /// The first message of a connection.
    Register {
        /// The version of the protocol, 1.
        protocol: u32,
        /// The agent's name: letters, digits, `-` and `_`.
        agent: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
        /// The session of the connection before this one: with it the agent goes on where it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// Whether to get the messages of others while waiting for the turn. They come with the turn in any case.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        observe: Option<bool>,
    },
    /// A sign of life. Any other message is one too.
    Heartbeat {},
    /// Says something. Text that ends in the word TURN_COMPLETE completes the turn.
    Message {
        channel: String,
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    TurnComplete {
        channel: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// Pauses the own turn. Nobody else gets it meanwhile.
    Wait {
        channel: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u64>,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Until>,
        /// After this the turn is forfeited; the channel's own limit counts if it is shorter.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_seconds: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// Goes on with a turn that waits.
    Resumed {
        channel: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// Asks for messages of a channel the agent is in.
    History {
        channel: String,
        /// Those with a number above this one.
        #[serde(default)]
        after: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// The agent stops. Without it a connection that ends counts as broken.
    Goodbye {},
}

/// What ends a wait, besides the agent itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// Only `resumed`.
    Resumed,
    /// The next message of anybody else.
    Message,
    /// The next message of a person.
    Person,
    /// A moment, in milliseconds since 1970.
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
    /// The agent's own id of the message.
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
