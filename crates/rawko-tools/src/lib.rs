//! Tools that agents can call. One dispatch point; every call passes the grant.

mod alias;
mod bash;
mod builtin;
mod confine;
mod files;
mod foreign;
mod grant;
mod input;
mod known;
mod narrow;
mod outcome;
mod pattern;
mod plan;
mod reach;
mod settings;
mod shell;
mod toolbox;
mod web;

use std::future::Future;
use std::pin::Pin;

pub use bash::Variables;
pub use confine::ProtectedPaths;
pub use grant::{BashFilter, Grant, Layer};
pub use known::{builtin_names, is_builtin, is_delegation, is_known_elsewhere};
pub use narrow::LayeredTools;
pub use outcome::{Refusal, ToolOutcome};
pub use plan::{Plan, PlanStep, StepStatus};
pub use settings::{BashSettings, Sandbox, ToolSettings, WebSettings};
pub use toolbox::{ToolCall, Toolbox};

use rawko_core::Value;

use rawko_model::ToolSpec;

/// A pending tool call.
pub type Running<'a> = Pin<Box<dyn Future<Output = ToolOutcome> + Send + 'a>>;

/// A source of tools besides the built-in ones: MCP servers, an embedder.
pub trait ToolSource: Send + Sync {
    /// Returns the available tools by full name (`mcp__git__status`).
    fn specs(&self) -> Pin<Box<dyn Future<Output = Vec<ToolSpec>> + Send + '_>>;

    /// Returns at least the tools that a grant can use. A source that starts something does so only for these.
    fn specs_for<'a>(&'a self, grant: &'a Grant) -> Pin<Box<dyn Future<Output = Vec<ToolSpec>> + Send + 'a>> {
        let _ = grant;
        self.specs()
    }

    /// Returns true if this source owns a name, also while its server is down.
    fn has(&self, name: &str) -> bool;

    /// Returns true if a call with an unknown outcome may be repeated.
    fn is_safe_to_repeat(&self, name: &str) -> bool;

    fn call<'a>(&'a self, name: &'a str, input: Value) -> Running<'a>;
}
