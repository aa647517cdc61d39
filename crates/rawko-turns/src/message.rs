//! Messages of a channel and their authors.

use serde::{Deserialize, Serialize};

use crate::names::{AgentId, TurnId};

/// One message. Numbers have no gaps, so a reader can detect missing messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Position in the channel, counted from 1.
    pub number: u64,
    pub at_ms: i64,
    #[serde(flatten)]
    pub author: Author,
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "from", rename_all = "snake_case")]
pub enum Author {
    Agent(AgentId),
    Person(String),
    /// The channel itself.
    Notice,
}

impl Author {
    pub fn is(&self, agent: &AgentId) -> bool {
        matches!(self, Author::Agent(author) if author == agent)
    }

    /// Returns a short name for the author.
    pub fn name(&self) -> &str {
        match self {
            Author::Agent(agent) => agent.as_str(),
            Author::Person(name) => name,
            Author::Notice => "channel",
        }
    }
}
