//! Messages to agents.

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
    /// Response to `register`.
    Registered {
        protocol: u32,
        agent: String,
        /// Session to reconnect with.
        session: String,
        /// True if the agent resumes its state.
        resumed: bool,
        /// Heartbeat interval; an agent that misses three is considered lost.
        heartbeat_seconds: u64,
        channels: Vec<ChannelInfo>,
    },
    Heartbeat {},
    /// The agent joined a channel's queue.
    Assigned {
        channel: String,
        members: Vec<String>,
    },
    /// The agent has the turn.
    TurnGranted {
        channel: String,
        turn: u64,
        /// End of the turn; null while the turn is paused.
        deadline: Option<String>,
        /// Messages since the agent's last turn.
        messages: Vec<WireMessage>,
        /// Number of earlier messages that are not included; `history` returns them.
        #[serde(default, skip_serializing_if = "is_zero")]
        earlier: u64,
        /// The agent had this turn before it reconnected.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    /// A message was posted. `observing`: the agent does not have the turn.
    Message {
        channel: String,
        message: WireMessage,
        observing: bool,
    },
    /// The agent's turn is suspended, not at its request.
    TurnSuspended {
        channel: String,
        turn: u64,
        why: String,
    },
    /// The agent's wait began, and ends at `until` at the latest.
    Waiting {
        channel: String,
        turn: u64,
        until: String,
    },
    /// A suspended turn resumes.
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
    /// The request succeeded. Only for messages with an `id`.
    Accepted {
        id: String,
        channel: String,
        /// Number of the posted message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<u64>,
        /// The request had already been applied.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        duplicate: bool,
    },
    History {
        channel: String,
        messages: Vec<WireMessage>,
        /// True if there are more messages.
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
        /// The connection is closed after this error.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        fatal: bool,
    },
}

/// A channel of the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(JsonSchema))]
pub struct ChannelInfo {
    pub channel: String,
    /// OFFLINE, IDLE, QUEUED, ACTIVE or WAITING.
    pub state: String,
}

/// A message of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(JsonSchema))]
pub struct WireMessage {
    /// Position in the channel, without gaps.
    pub number: u64,
    pub at: String,
    /// `agent`, `person` or `notice`.
    pub kind: String,
    pub from: String,
    pub text: String,
    /// Set if it arrived after its turn had ended.
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
