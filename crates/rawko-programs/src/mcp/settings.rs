//! How MCP servers are run: where, in which environment, and within which limits.

use std::path::PathBuf;
use std::time::Duration;

use rawko_settings::Environment;

#[derive(Clone, Debug)]
pub struct McpSettings {
    /// The project: where programs run.
    pub root: PathBuf,
    /// What programs see of it is a short list; the rest is given by name in the file.
    pub environment: Environment,
    /// From starting a server to its list of tools.
    pub start_timeout: Duration,
    pub call_timeout: Duration,
    /// Of text that a call gives back; what is more is cut, and the model is told.
    pub output_bytes_max: usize,
    /// Of all images of a call together, as base64.
    pub image_bytes_max: usize,
    /// How often in a row a server may be lost or not start before it is left alone.
    pub failures_max: u32,
    /// The pause before the second start in a row; it doubles from there.
    pub pause_first: Duration,
    pub pause_max: Duration,
    /// How long a server is left alone.
    pub rest: Duration,
}

impl McpSettings {
    pub fn new(root: impl Into<PathBuf>, environment: Environment) -> Self {
        Self {
            root: root.into(),
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
