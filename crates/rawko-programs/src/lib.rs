//! Programs that agents use: process agents, agents over ACP, MCP servers, language servers and the project's checks.
//! Separate from tools, because each of these speaks a protocol with an external program.

pub mod acp;
pub mod changes;
pub mod checkpoints;
pub mod checks;
pub mod mcp;
pub mod process;
pub mod worktrees;
