//! Tools: what an agent may ask to be run. One dispatch point; nothing reaches a tool past the grant.

mod alias;
mod bash;
mod builtin;
mod confine;
mod files;
mod foreign;
mod grant;
mod input;
mod known;
mod outcome;
mod pattern;
mod plan;
mod settings;
mod shell;
mod toolbox;
mod web;

use std::future::Future;
use std::pin::Pin;

pub use bash::Variables;
pub use grant::{BashFilter, Grant, Layer};
pub(crate) use known::{builtin_names, is_builtin};
pub use outcome::{Refusal, ToolOutcome};
pub use plan::{Plan, PlanStep, StepStatus};
pub use settings::{BashSettings, Sandbox, ToolSettings, WebSettings};
pub use toolbox::{ToolCall, Toolbox};

use rawko_core::Value;

use crate::message::ToolSpec;

/// The outcome of a tool, some time later.
pub type Running<'a> = Pin<Box<dyn Future<Output = ToolOutcome> + Send + 'a>>;

/// Where tools come from besides the built-in ones: MCP servers, an embedder.
pub trait ToolSource: Send + Sync {
    /// What there is, by full name (`mcp__git__status`).
    fn specs(&self) -> Pin<Box<dyn Future<Output = Vec<ToolSpec>> + Send + '_>>;

    /// Whether this source answers for a name, also while its server is down.
    fn has(&self, name: &str) -> bool;

    /// Whether a call may be made again when nobody knows what became of it.
    fn is_safe_to_repeat(&self, name: &str) -> bool;

    fn call<'a>(&'a self, name: &'a str, input: Value) -> Running<'a>;
}
