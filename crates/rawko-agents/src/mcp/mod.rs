//! MCP servers: tools from `.mcp.json`, supervised and reconnected.
