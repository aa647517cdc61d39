//! MCP servers: tools from `.mcp.json`, supervised and reconnected.
//!
//! A server is started when it is first needed. When the connection is lost, the running call fails, and the next call
//! restarts the server after an increasing delay; a server that fails repeatedly is left alone for a while. The client is
//! in the feature `mcp`; without it a server is known and cannot be started.

#[cfg(feature = "mcp")]
mod asking;
mod browser;
#[cfg(feature = "mcp")]
mod calls;
mod config;
#[cfg(feature = "mcp")]
mod connection;
mod expand;
#[cfg(feature = "mcp")]
mod fault;
mod health;
#[cfg(feature = "mcp")]
mod http;
#[cfg(feature = "mcp")]
mod invoking;
#[cfg(feature = "mcp")]
mod listener;
mod names;
#[cfg(feature = "mcp")]
mod oauth;
#[cfg(feature = "mcp")]
mod reach;
mod read;
#[cfg(feature = "mcp")]
mod result;
#[cfg(feature = "mcp")]
mod sampling;
mod secrets;
#[cfg_attr(not(feature = "mcp"), path = "absent.rs")]
mod server;
mod servers;
mod settings;
#[cfg(feature = "mcp")]
mod supervision;
#[cfg(feature = "mcp")]
mod tools;

pub use browser::Browser;
pub use config::{McpConfig, McpOAuth, McpTransport};
pub use health::{McpHealthState, ServerHealth};
pub use names::server_part;
pub use read::{MCP_FILE, read_mcp, read_mcp_file};
#[cfg(feature = "mcp")]
pub(crate) use result::is_result;
pub use secrets::McpSecrets;
pub use servers::McpServers;
pub use settings::{McpSettings, SamplingModel};
