//! Newtypes for agent names and turn numbers, so that they cannot be confused.

use std::borrow::Borrow;
use std::fmt;

use serde::{Deserialize, Serialize};

const NAME_CHARS_MAX: usize = 64;

/// Agent, identified by the name it registers with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentId(pub String);

/// A turn of one channel, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TurnId(pub u64);

/// Returns true if the text is valid as the name of a channel or agent. The name becomes part of an instance id, where
/// dots are separators.
pub fn is_name(text: &str) -> bool {
    let fits = |character: char| character.is_alphanumeric() || matches!(character, '-' | '_');
    !text.is_empty() && text.chars().count() <= NAME_CHARS_MAX && text.chars().all(fits)
}

impl AgentId {
    /// Returns the id as text.
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
