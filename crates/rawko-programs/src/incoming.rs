//! The parsers of messages that other programs send, by protocol, without a program behind them. Separate from the
//! protocols because only the fuzz targets (`crates/rawko/tests/fuzz`) call them this way.

use crate::{checks, process};

/// Parses a line of a program agent; returns false if it is refused.
pub fn read_agent_line(line: &[u8]) -> bool {
    process::is_agent_line(line)
}

/// Takes all messages of a language server from the bytes that it sent; returns their number.
pub fn read_language_server(bytes: &[u8]) -> usize {
    checks::count_messages(bytes)
}

/// Converts the result of an MCP server for the model; returns false if it is refused.
#[cfg(feature = "mcp")]
pub fn read_mcp_result(text: &[u8]) -> bool {
    crate::mcp::is_result(text)
}

/// Reads an update of an ACP agent as the session does; returns false if it is refused.
#[cfg(feature = "acp")]
pub fn read_acp_update(text: &[u8]) -> bool {
    crate::acp::is_update(text)
}
