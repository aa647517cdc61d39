//! Language models: messages, providers with their wire formats, recorded and scripted answers, and what a model that
//! cannot see does with images. Separate from agents, so that whatever asks a model links nothing else.

mod message;
pub mod provider;
pub mod vision;

pub use message::{Message, Part, Role, StopReason, ToolResult, ToolSpec, ToolUse, Usage};
