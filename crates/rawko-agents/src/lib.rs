//! Agents at work: what they are, which models they speak to, what tools they may use, and when they stop.

pub mod acp;
pub mod agent;
pub mod arbiter;
pub mod checks;
pub mod loop_control;
pub mod mcp;
pub mod memories;
mod message;
pub mod phases;
pub mod process;
pub mod provider;
pub mod tools;
pub mod vision;
pub mod work;

pub use message::{Message, Part, Role, StopReason, ToolResult, ToolSpec, ToolUse, Usage};
