//! Language models: messages, providers with their wire formats, recorded and scripted responses, and image handling
//! for models without vision. Separate from agents, so that a program that only calls models links nothing else.
//!
//! ```
//! use rawko_model::{Message, Role, Usage};
//!
//! let message = Message::text(Role::User, "Why does the build fail?");
//! assert_eq!(message.tool_uses().count(), 0);
//! let spent = Usage { input_tokens: 12, ..Usage::default() }.plus(Usage { output_tokens: 3, ..Usage::default() });
//! assert_eq!((spent.input_tokens, spent.output_tokens), (12, 3));
//! ```
#![warn(missing_docs)]

mod message;
pub mod provider;
pub mod vision;

pub use message::{Message, MessagePart, Reasoning, Role, StopReason, ToolResult, ToolSpec, ToolUse, Usage};
