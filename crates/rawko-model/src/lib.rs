//! Language models: messages, providers with their wire formats, recorded and scripted responses, and image handling
//! for models without vision. Separate from agents, so that a program that only calls models links nothing else.
#![warn(missing_docs)]

mod message;
pub mod provider;
pub mod vision;

pub use message::{Message, MessagePart, Reasoning, Role, StopReason, ToolResult, ToolSpec, ToolUse, Usage};
