//! MCP servers: tools from `.mcp.json`, supervised and reconnected.
//!
//! A server is started when it is first needed. When it is lost, the call that was running says so, and the next call
//! starts it again, after a pause that grows; a server that is lost again and again is left alone for a while.

mod config;
mod connection;
mod expand;
mod fault;
mod health;
mod http;
mod names;
mod read;
mod result;
mod secrets;
mod server;
mod servers;
mod settings;
mod supervision;
mod tools;

pub use config::{McpConfig, McpTransport};
pub use health::{HealthState, ServerHealth};
pub use names::server_part;
pub use read::{MCP_FILE, read_mcp, read_mcp_file};
pub use secrets::McpSecrets;
pub use servers::McpServers;
pub use settings::McpSettings;
