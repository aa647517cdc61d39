//! What is said in a channel.

use serde::{Deserialize, Serialize};

use crate::names::{AgentId, TurnId};

/// One message. Numbers are without gaps, so that whoever reads can tell what is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its place in the channel, counted from 1.
    pub number: u64,
    pub at_ms: i64,
    #[serde(flatten)]
    pub author: Author,
    pub text: String,
    /// The turn it was said in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// It came after that turn had ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// The sender's own id for it.
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

    /// Who it was, in a word.
    pub fn name(&self) -> &str {
        match self {
            Author::Agent(agent) => agent.as_str(),
            Author::Person(name) => name,
            Author::Notice => "channel",
        }
    }
}
