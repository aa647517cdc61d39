//! Names and numbers that must not be mixed up: agents, turns.

use std::borrow::Borrow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Longer names are not names.
const NAME_CHARS_MAX: usize = 64;

/// An agent, by the name it registers with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentId(pub String);

/// A turn of one channel, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TurnId(pub u64);

/// Whether this can be the name of a channel or an agent: it becomes part of an instance's id, where dots separate.
pub fn is_name(text: &str) -> bool {
    let fits = |character: char| character.is_alphanumeric() || matches!(character, '-' | '_');
    !text.is_empty() && text.chars().count() <= NAME_CHARS_MAX && text.chars().all(fits)
}

impl AgentId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for AgentId {
    fn from(name: &str) -> Self {
        Self(name.to_owned())
    }
}

impl Borrow<str> for AgentId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
