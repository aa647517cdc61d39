//! `Role`: the rights of a token. Separate from the HTTP guard because tokens exist without a server.

use serde::{Deserialize, Serialize};

/// Access level of a token; each includes the previous ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Connects as an agent, and nothing else: agents never act as a person.
    Agent,
    /// Looks at everything and changes nothing.
    Read,
    /// Starts instances and acts on them, answers what people are asked, speaks in channels, connects as an agent.
    Operate,
    /// Changes what can be started.
    Admin,
}

impl Role {
    pub const ALL: [Role; 4] = [Role::Agent, Role::Read, Role::Operate, Role::Admin];

    pub fn as_str(self) -> &'static str {
        match self {
            Role::Agent => "agent",
            Role::Read => "read",
            Role::Operate => "operate",
            Role::Admin => "admin",
        }
    }

    /// Returns true if a token with this role may connect as an agent.
    pub(crate) fn connects_agents(self) -> bool {
        self == Role::Agent || self >= Role::Operate
    }

    pub fn from_word(word: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.as_str() == word)
    }
}
