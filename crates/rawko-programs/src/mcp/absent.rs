//! A build without the feature `mcp`: every server of `.mcp.json` is known and none can be started, with an error that
//! names the feature.

use std::sync::Arc;

use rawko_core::Value;
use rawko_process::ProjectAccess;

use super::browser::Browser;
use super::config::McpConfig;
use super::health::{McpHealthState, ServerHealth};
use super::names::prefix;
use super::servers::failure;
use super::settings::McpSettings;
use rawko_model::ToolSpec;
use rawko_tools::{Occasion, ToolOutcome};

const WHY: &str = "this build of rawko has no MCP client; build it with `--features mcp` (or `full`)";

pub(super) struct McpServerHandle {
    config: McpConfig,
    pub(super) prefix: String,
}

impl McpServerHandle {
    pub(super) fn new(config: McpConfig, _: Arc<McpSettings>, _: ProjectAccess) -> Self {
        Self { prefix: prefix(&config), config }
    }

    pub(super) async fn specs(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    pub(super) fn is_safe_to_repeat(&self, _: &str) -> bool {
        false
    }

    pub(super) fn host(&self) -> Option<(String, u16)> {
        self.config.transport.host()
    }

    pub(super) fn asks(&self) -> bool {
        false
    }

    pub(super) fn only_reads(&self, _: &str) -> bool {
        false
    }

    pub(super) fn name(&self) -> &str {
        &self.config.name
    }

    pub(super) async fn login(&self, _: Browser<'_>) -> Result<(), String> {
        Err(WHY.to_owned())
    }

    pub(super) async fn logout(&self) -> Result<bool, String> {
        Err(WHY.to_owned())
    }

    pub(super) async fn call(&self, _: &str, _: Value, _: Occasion<'_>) -> ToolOutcome {
        failure(format!("the MCP server `{}` is not available: {WHY}", self.config.name))
    }

    pub(super) async fn check(&self) -> ServerHealth {
        self.health()
    }

    pub(super) fn health(&self) -> ServerHealth {
        ServerHealth {
            name: self.config.name.clone(),
            server: self.config.transport.shown(),
            state: McpHealthState::Unusable,
            tools: None,
            starts: 0,
            pid: None,
            implementation: None,
            problem: Some(WHY.to_owned()),
        }
    }

    pub(super) async fn close(&self) {}
}
