//! `Role`: the rights of a token. Separate from the HTTP guard because tokens exist without a server.

use serde::{Deserialize, Serialize};

/// Access level of a token; each includes the previous ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Looks at everything and changes nothing.
    Read,
    /// Starts instances and acts on them, answers what people are asked, speaks in channels, connects as an agent.
    Operate,
    /// Changes what can be started.
    Admin,
}

impl Role {
    pub const ALL: [Role; 3] = [Role::Read, Role::Operate, Role::Admin];

    pub fn as_str(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Operate => "operate",
            Role::Admin => "admin",
        }
    }

    pub fn from_word(word: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.as_str() == word)
    }
}
