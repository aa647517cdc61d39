//! Agents at work: what they are, which models they speak to, what tools they may use, and when they stop.

mod message;

pub use message::{Message, Part, Role, StopReason, ToolResult, ToolSpec, ToolUse, Usage};
