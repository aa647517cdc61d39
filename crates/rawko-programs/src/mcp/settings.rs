//! Settings for running MCP servers: directory, environment and limits.

use std::path::PathBuf;
use std::time::Duration;

use rawko_process::{Confinement, Egress};
use rawko_settings::Environment;

#[derive(Clone, Debug)]
pub struct McpSettings {
    /// The project root: working directory of the programs.
    pub root: PathBuf,
    /// Programs inherit a short list of variables; the rest must be named in the file.
    pub environment: Environment,
    pub confinement: Confinement,
    /// Servers over HTTP must be among these hosts.
    pub egress: Egress,
    /// Timeout from starting a server to receiving its list of tools.
    pub start_timeout: Duration,
    pub call_timeout: Duration,
    /// Limit of text returned by a call; longer text is truncated with a notice to the model.
    pub output_bytes_max: usize,
    /// Limit of all images of a call together, as base64.
    pub image_bytes_max: usize,
    /// Consecutive losses or failed starts until a server is paused.
    pub failures_max: u32,
    /// Delay before the second start in a row; doubles from there.
    pub pause_first: Duration,
    pub pause_max: Duration,
    /// Duration of the pause.
    pub rest: Duration,
}

impl McpSettings {
    pub fn new(root: impl Into<PathBuf>, environment: Environment) -> Self {
        let root = root.into();
        Self {
            confinement: environment.confinement(&root),
            egress: Egress::default(),
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
