//! Messages of a channel and their authors.

use serde::{Deserialize, Serialize};

use crate::names::{AgentId, TurnId};

/// One message. Numbers have no gaps, so a reader can detect missing messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelMessage {
    /// Position in the channel, counted from 1.
    pub number: u64,
    /// Time of posting in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// Author; serialised beside the other fields.
    #[serde(flatten)]
    pub author: MessageAuthor,
    /// Message text as posted.
    pub text: String,
    /// The turn it was posted in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// Set if it arrived after that turn had ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// Id chosen by the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// The author of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "from", rename_all = "snake_case")]
pub enum MessageAuthor {
    /// An agent, by its id.
    Agent(AgentId),
    /// A person, by the proven name.
    Person(String),
    /// The channel itself.
    Notice,
}

impl MessageAuthor {
    /// Returns true if `agent` is the author.
    pub fn is(&self, agent: &AgentId) -> bool {
        matches!(self, MessageAuthor::Agent(author) if author == agent)
    }

    /// Returns a short name for the author.
    pub fn name(&self) -> &str {
        match self {
            MessageAuthor::Agent(agent) => agent.as_str(),
            MessageAuthor::Person(name) => name,
            MessageAuthor::Notice => "channel",
        }
    }
}
