//! Messages to agents.

use rawko_turns::{ChannelMessage, MessageAuthor};
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
        /// Version of the protocol, 1.
        protocol: u32,
        /// Name of the agent.
        agent: String,
        /// Session to reconnect with.
        session: String,
        /// True if the agent resumes its state.
        resumed: bool,
        /// Heartbeat interval; an agent that misses three is considered lost.
        heartbeat_seconds: u64,
        /// Channels that the agent is assigned to.
        channels: Vec<ChannelInfo>,
    },
    /// Answer to a heartbeat.
    Heartbeat {},
    /// The agent joined a channel's queue.
    Assigned {
        /// Channel name.
        channel: String,
        /// Names of all members.
        members: Vec<String>,
    },
    /// The agent has the turn.
    TurnGranted {
        /// Channel name.
        channel: String,
        /// Number of the turn.
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
        /// Channel name.
        channel: String,
        /// The posted message.
        message: WireMessage,
        /// True if the agent does not have the turn.
        observing: bool,
    },
    /// The agent's turn is suspended, not at its request.
    TurnSuspended {
        /// Channel name.
        channel: String,
        /// Number of the turn.
        turn: u64,
        /// Reason for people.
        why: String,
    },
    /// The agent's wait began, and ends at `until` at the latest.
    Waiting {
        /// Channel name.
        channel: String,
        /// Number of the turn.
        turn: u64,
        /// End of the wait in RFC 3339.
        until: String,
    },
    /// A suspended turn resumes.
    Resumed {
        /// Channel name.
        channel: String,
        /// Number of the turn.
        turn: u64,
        /// New end of the turn in RFC 3339.
        deadline: String,
        /// Messages since the turn was suspended.
        messages: Vec<WireMessage>,
    },
    /// The agent's turn ended.
    TurnEnded {
        /// Channel name.
        channel: String,
        /// Number of the turn.
        turn: u64,
        /// Reason: `completed`, `timeout`, `silence` and others.
        why: String,
    },
    /// A person removed the agent from a channel.
    Removed {
        /// Channel name.
        channel: String,
        /// Name of the person.
        by: String,
    },
    /// The request succeeded. Only for messages with an `id`.
    Accepted {
        /// Id of the request.
        id: String,
        /// Channel name.
        channel: String,
        /// Number of the posted message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<u64>,
        /// The request had already been applied.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        duplicate: bool,
    },
    /// Response to `history`.
    History {
        /// Channel name.
        channel: String,
        /// Messages in order.
        messages: Vec<WireMessage>,
        /// True if there are more messages.
        more: bool,
        /// Id of the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// A request failed, or a message could not be read.
    Error {
        /// Code for programs.
        code: String,
        /// Sentence for people.
        message: String,
        /// Id of the request, if it had one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Channel name, if the request had one.
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
    /// Channel name.
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
    /// Time in RFC 3339.
    pub at: String,
    /// `agent`, `person` or `notice`.
    pub kind: String,
    /// Name of the agent or person; `channel` for a notice.
    pub from: String,
    /// Message text.
    pub text: String,
    /// Set if it arrived after its turn had ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl From<&ChannelMessage> for WireMessage {
    fn from(message: &ChannelMessage) -> Self {
        let kind = match message.author {
            MessageAuthor::Agent(_) => "agent",
            MessageAuthor::Person(_) => "person",
            MessageAuthor::Notice => "notice",
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
