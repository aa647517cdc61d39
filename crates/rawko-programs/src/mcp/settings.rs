//! Settings for running MCP servers: directory, environment and limits.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rawko_model::provider::Provider;
use rawko_process::{Confinement, Egress};
use rawko_settings::{Environment, StateDir};
use rawko_tools::SamplingSettings;

/// The model that servers may use, if a rule allows it.
#[derive(Clone)]
pub struct SamplingModel {
    /// The provider of the model.
    pub provider: Arc<dyn Provider>,
    /// The provider's name of the model.
    pub model: String,
}

impl fmt::Debug for SamplingModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SamplingModel").field("model", &self.model).finish_non_exhaustive()
    }
}

/// Settings of all servers.
#[derive(Clone, Debug)]
pub struct McpSettings {
    /// The project root: working directory of the programs.
    pub root: PathBuf,
    /// Programs inherit a short list of variables; the rest must be named in the file.
    pub environment: Environment,
    /// The bounds of servers that are programs.
    pub confinement: Confinement,
    /// Servers over HTTP must be among these hosts.
    pub egress: Egress,
    /// The rule for servers that ask for completions, and the model; `None` refuses them.
    pub sampling: Option<(SamplingSettings, SamplingModel)>,
    /// Directory of the person's logins; `None` keeps them in memory.
    pub credentials: Option<PathBuf>,
    /// Timeout from starting a server to receiving its list of tools.
    pub start_timeout: Duration,
    /// Time limit of a call.
    pub call_timeout: Duration,
    /// Limit of text returned by a call; longer text is truncated with a notice to the model.
    pub output_bytes_max: usize,
    /// Limit of all images of a call together, as base64.
    pub image_bytes_max: usize,
    /// Consecutive losses or failed starts until a server is paused.
    pub failures_max: u32,
    /// Delay before the second start in a row; doubles from there.
    pub pause_first: Duration,
    /// Longest pause between two starts.
    pub pause_max: Duration,
    /// Duration of the pause.
    pub rest: Duration,
}

impl McpSettings {
    /// Creates the default settings of a project.
    pub fn new(root: impl Into<PathBuf>, environment: Environment) -> Self {
        let root = root.into();
        Self {
            confinement: environment.confinement(&root),
            egress: Egress::default(),
            sampling: None,
            credentials: StateDir::of(&environment).ok().map(|state| state.path().join("mcp")),
            root,
            environment,
            start_timeout: Duration::from_secs(60),
            call_timeout: Duration::from_secs(120),
            output_bytes_max: 128 * 1024,
            image_bytes_max: 8 * 1024 * 1024,
            failures_max: 5,
            pause_first: Duration::from_millis(250),
            pause_max: Duration::from_secs(10),
            rest: Duration::from_secs(300),
        }
    }
}
