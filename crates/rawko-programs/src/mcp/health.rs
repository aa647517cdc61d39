//! How MCP servers are, for `rawko agents check` and whoever looks after a project.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerHealth {
    /// As the file has it.
    pub name: String,
    /// The program or the address.
    pub server: String,
    pub state: HealthState,
    /// How many tools it has, once it has said so.
    pub tools: Option<usize>,
    /// How often it was started, or connected to.
    pub starts: u32,
    /// Of the program, while it is up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// What the server calls itself, and the protocol's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implementation: Option<String>,
    /// The last thing that went wrong since it last answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HealthState {
    /// Nobody has needed it yet.
    NotStarted,
    Up,
    /// Lost, or it did not start; the next call starts it.
    Down,
    /// It failed too often in a row; it is left alone for a while.
    LeftAlone,
    /// What the file says cannot be used.
    Unusable,
}
