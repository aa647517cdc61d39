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
mod network;
mod outcome;
mod parallel;
mod pattern;
mod permissions;
mod plan;
mod question;
mod reach;
mod settings;
mod shell;
mod skill;
mod think;
mod toolbox;
mod web;

use std::future::Future;
use std::pin::Pin;

pub use bash::{OutputWatch, Variables, with_output_watch};
pub use confine::ProtectedPaths;
pub use files::{IMAGE_BYTES_MAX, image_of_base64, image_part};
pub use grant::{BashFilter, Grant, Layer};
pub use known::{builtin_names, is_builtin, is_delegation, is_known_elsewhere};
pub use narrow::LayeredTools;
pub use outcome::{Refusal, ToolOutcome};
pub use permissions::{
    AlwaysError, AskMode, Effect, Judgement, Party, Permissions, RuleProblem, add_rules, network_rule,
    read_agent, read_section, shown,
};
pub use plan::{Plan, PlanStep, StepStatus};
pub use question::ASK_USER;
pub use settings::{BashSettings, Sandbox, ToolSettings, WebSettings};
pub use skill::Skill;
pub use toolbox::{Clearance, ToolCall, Toolbox};
pub use web::{SearchEngine, SearchModel, SearchSettings};

use rawko_core::Value;
pub use rawko_process::ProjectAccess;

use rawko_model::ToolSpec;

/// A pending tool call.
pub type Running<'a> = Pin<Box<dyn Future<Output = ToolOutcome> + Send + 'a>>;

/// A source of tools besides the built-in ones: MCP servers, an embedder.
pub trait ToolSource: Send + Sync {
    /// Returns the available tools by full name (`mcp__git__status`), for an agent with this access to the project.
    fn specs(&self, access: ProjectAccess) -> Pin<Box<dyn Future<Output = Vec<ToolSpec>> + Send + '_>>;

    /// Returns at least the tools that a grant can use. A source that starts something does so only for these.
    fn specs_for<'a>(&'a self, grant: &'a Grant) -> Pin<Box<dyn Future<Output = Vec<ToolSpec>> + Send + 'a>> {
        self.specs(grant.access())
    }

    /// Returns true if this source owns a name, also while its server is down.
    fn has(&self, name: &str) -> bool;

    /// Returns true if a call with an unknown outcome may be repeated.
    fn is_safe_to_repeat(&self, name: &str) -> bool;

    /// Returns true if a call changes nothing, so that it may run beside other calls.
    fn only_reads(&self, _name: &str) -> bool {
        false
    }

    /// Returns the host and the port that a call of a tool connects to, if it is a remote one.
    fn host(&self, _name: &str) -> Option<(String, u16)> {
        None
    }

    /// Calls a tool. A program that runs for an agent without write access must not have it either.
    fn call<'a>(&'a self, name: &'a str, input: Value, access: ProjectAccess) -> Running<'a>;
}
