//! Tools that agents can call. One dispatch point; every call passes the grant.
//!
//! ```
//! use rawko_tools::{Grant, GrantLayer};
//!
//! let rules = |source: &str, blocked: &[&str]| GrantLayer {
//!     source: source.to_owned(),
//!     blocked: blocked.iter().map(|tool| (*tool).to_owned()).collect(),
//!     ..GrantLayer::default()
//! };
//! // Each layer only narrows: what one blocks, no other allows again.
//! let grant = Grant::new([rules("the project", &["Bash"]), rules("the agent", &["Web*"])]);
//! assert!(grant.allows("Read"));
//! assert!(!grant.allows("Bash"));
//! assert!(!grant.allows("WebFetch"));
//! ```

#![warn(missing_docs)]

mod alias;
mod bash;
mod builtin;
mod confine;
mod external_agents;
mod file_calls;
mod files;
mod grant;
mod ignored;
mod input;
mod known;
mod network;
mod outcome;
mod own_places;
mod parallel;
mod pattern;
mod permissions;
mod plan;
mod question;
mod reach;
mod sampling;
mod settings;
mod settings_layers;
mod shell;
mod skill;
mod think;
mod toolbox;
mod tree_changes;
mod unconfined;
mod web;

use std::future::Future;
use std::pin::Pin;

pub use bash::{CommandVariables, OutputWatch, with_output_watch};
pub use confine::ProtectedPaths;
pub use files::{IMAGE_BYTES_MAX, image_of_base64, image_part, nameable_files};
pub use grant::{BashFilter, Grant, GrantLayer};
pub use ignored::IgnoreRules;
pub use known::{
    alias_names, builtin_names, is_builtin, is_delegation, is_known_elsewhere, is_unknown_tool,
    suggested_tools,
};
pub use outcome::{ToolFacts, ToolOutcome, ToolQuestion, ToolRefusal, WantedHost};
pub use permissions::{
    AlwaysError, AskMode, Judgement, Party, PermissionEffect, Permissions, RuleProblem, add_rules,
    blocked_entry_problem, network_rule, read_agent, read_section, shown,
};
pub use question::{ASK_USER, UserQuestion};
pub use sampling::SamplingSettings;
pub use settings::{BashSettings, Sandbox, ToolSettings, WebSettings};
pub use settings_layers::LayeredTools;
pub use skill::Skill;
pub use toolbox::{Clearance, ToolCall, Toolbox};
pub use unconfined::{ACTING_COMMANDS, CallVerdict, UnconfinedCalls};
pub use web::{SearchEngine, SearchModel, SearchSettings};

use rawko_core::Value;
pub use rawko_process::ProjectAccess;

use rawko_model::ToolSpec;

/// A pending tool call.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = ToolOutcome> + Send + 'a>>;

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
    fn call<'a>(&'a self, name: &'a str, input: Value, access: ProjectAccess) -> ToolFuture<'a>;

    /// Calls a tool that may ask the person something: `question` in the data of the outcome. The call is then made again
    /// with their reply.
    fn call_for<'a>(
        &'a self,
        name: &'a str,
        input: Value,
        access: ProjectAccess,
        _occasion: Occasion<'a>,
    ) -> ToolFuture<'a> {
        self.call(name, input, access)
    }
}

/// What a call of a tool belongs to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Occasion<'a> {
    /// The same for a call and its repetition with the reply.
    pub key: &'a str,
    /// True if a person can be asked. Otherwise questions are declined.
    pub can_ask: bool,
    /// The reply of the person to the question.
    pub reply: Option<&'a Value>,
    /// The instance that makes the call.
    pub instance: &'a str,
    /// Idempotency key; unchanged when a call is repeated after a crash, different for every other call.
    pub idempotency: &'a str,
}
