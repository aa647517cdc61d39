//! `Role`: the rights of a token. Separate from the HTTP guard because tokens exist without a server.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Access level of a token. From `read` on, each includes the previous ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Connects as a program that provides services, and nothing else.
    Service,
    /// Connects as an agent, and nothing else: agents never act as a person.
    Agent,
    /// Looks at everything and changes nothing.
    Read,
    /// Starts instances and acts on them, answers what people are asked, speaks in channels, connects as an agent.
    Operate,
    /// Changes what can be started.
    Admin,
}

/// Names under which a connection may register agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AgentNames {
    Any,
    /// The name of the token.
    Only(Arc<str>),
}

impl Role {
    /// All roles, lowest rights first.
    pub const ALL: [Role; 5] = [Role::Service, Role::Agent, Role::Read, Role::Operate, Role::Admin];

    /// Returns the name used in settings and the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Service => "service",
            Role::Agent => "agent",
            Role::Read => "read",
            Role::Operate => "operate",
            Role::Admin => "admin",
        }
    }

    /// Returns the names under which a token with this role connects agents; `None` if it may not. A token of an agent
    /// connects that agent only: the author of a message is proven, not claimed.
    pub(crate) fn agent_names(self, token: &Arc<str>) -> Option<AgentNames> {
        match self {
            Role::Agent => Some(AgentNames::Only(Arc::clone(token))),
            Role::Operate | Role::Admin => Some(AgentNames::Any),
            Role::Service | Role::Read => None,
        }
    }

    /// Returns true if a token with this role may provide services. An operator may not: results would be its own word.
    #[cfg(feature = "http")]
    pub(crate) fn provides_services(self) -> bool {
        self == Role::Service || self == Role::Admin
    }

    /// Returns true if a token with this role decides what happens: it acts as a person or answers for a service.
    #[cfg(feature = "http")]
    pub(crate) fn acts(self) -> bool {
        self == Role::Service || self >= Role::Operate
    }

    /// Parses the name of a role.
    pub fn from_word(word: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.as_str() == word)
    }
}
