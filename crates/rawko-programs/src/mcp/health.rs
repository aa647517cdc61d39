//! Status of MCP servers, for `rawko agents check` and operators.

use serde::{Deserialize, Serialize};

/// The state of one server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerHealth {
    /// The name in the file.
    pub name: String,
    /// The program or the URL.
    pub server: String,
    /// Its state.
    pub state: McpHealthState,
    /// Number of tools, once listed.
    pub tools: Option<usize>,
    /// Number of starts or connections.
    pub starts: u32,
    /// Process id while the program runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// The server's own name and the protocol version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implementation: Option<String>,
    /// The last error since the last successful response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The state of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpHealthState {
    /// Not used yet.
    NotStarted,
    /// It answers.
    Up,
    /// Lost or failed to start; the next call starts it.
    Down,
    /// Failed too often in a row; paused for a while.
    LeftAlone,
    /// The configuration is invalid.
    Unusable,
}
