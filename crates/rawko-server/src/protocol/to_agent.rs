//! What the server says.

use rawko_turns::{Author, Message};
#[cfg(feature = "http")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::moment;

/// A message to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToAgent {
    /// The answer to `register`.
    Registered {
        protocol: u32,
        agent: String,
        /// To reconnect with.
        session: String,
        /// Whether the agent goes on where it was.
        resumed: bool,
        /// Three of these without a sign of life, and the agent counts as gone.
        heartbeat_seconds: u64,
        channels: Vec<ChannelInfo>,
    },
    Heartbeat {},
    /// The agent is in a channel's queue now.
    Assigned {
        channel: String,
        members: Vec<String>,
    },
    /// The agent has the turn.
    TurnGranted {
        channel: String,
        turn: u64,
        /// Until then; null while the turn is paused.
        deadline: Option<String>,
        /// What was said since the agent's last turn.
        messages: Vec<WireMessage>,
        /// How many more there were before these; `history` has them.
        #[serde(default, skip_serializing_if = "is_zero")]
        earlier: u64,
        /// The agent had this turn before it reconnected.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    /// Somebody said something. `observing`: the agent does not have the turn.
    Message {
        channel: String,
        message: WireMessage,
        observing: bool,
    },
    /// The agent's turn pauses, not by its own wish.
    TurnSuspended {
        channel: String,
        turn: u64,
        why: String,
    },
    /// The agent's wait began, and ends at the latest then.
    Waiting {
        channel: String,
        turn: u64,
        until: String,
    },
    /// A paused turn goes on.
    Resumed {
        channel: String,
        turn: u64,
        deadline: String,
        messages: Vec<WireMessage>,
    },
    TurnEnded {
        channel: String,
        turn: u64,
        why: String,
    },
    Removed {
        channel: String,
        by: String,
    },
    /// What the agent asked was done. Only for messages with an `id`.
    Accepted {
        id: String,
        channel: String,
        /// The number of the message that was posted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<u64>,
        /// It was done before, and once.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        duplicate: bool,
    },
    History {
        channel: String,
        messages: Vec<WireMessage>,
        /// Whether there are more after these.
        more: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    Error {
        code: String,
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<String>,
        /// The connection ends with this.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        fatal: bool,
    },
}

/// A channel the agent knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(JsonSchema))]
pub struct ChannelInfo {
    pub channel: String,
    /// OFFLINE, IDLE, QUEUED, ACTIVE or WAITING.
    pub state: String,
}

/// A message of a channel on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(JsonSchema))]
pub struct WireMessage {
    /// Its place in the channel, without gaps.
    pub number: u64,
    pub at: String,
    /// `agent`, `person` or `notice`.
    pub kind: String,
    pub from: String,
    pub text: String,
    /// It came after its turn had ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl From<&Message> for WireMessage {
    fn from(message: &Message) -> Self {
        let kind = match message.author {
            Author::Agent(_) => "agent",
            Author::Person(_) => "person",
            Author::Notice => "notice",
        };
        Self {
            number: message.number,
            at: moment(message.at_ms),
            kind: kind.to_owned(),
            from: message.author.name().to_owned(),
            text: message.text.clone(),
            late: message.late,
        }
    }
}

impl ToAgent {
    pub(crate) fn error(code: &str, message: impl Into<String>) -> Self {
        ToAgent::Error {
            code: code.to_owned(),
            message: message.into(),
            id: None,
            channel: None,
            fatal: false,
        }
    }

    pub(crate) fn fatal(code: &str, message: impl Into<String>) -> Self {
        ToAgent::Error {
            code: code.to_owned(),
            message: message.into(),
            id: None,
            channel: None,
            fatal: true,
        }
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
