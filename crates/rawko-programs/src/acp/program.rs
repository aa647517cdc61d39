//! `AcpAgent`: how a coding agent that is installed here is started. Separate from the protocol, which a build may leave
//! out.

use std::path::PathBuf;
use std::time::Duration;

use rawko_settings::Environment;

/// A program that speaks the Agent Client Protocol on stdin and stdout. A process is started for each turn.
#[derive(Clone)]
pub struct AcpAgent {
    pub command: String,
    pub args: Vec<String>,
    /// The project; absolute, for it is told to the agent.
    pub cwd: PathBuf,
    pub env: Vec<(String, String)>,
    /// What the program sees of it is a short list; the rest is given by name in `env`.
    pub environment: Environment,
    /// How to sign in when the agent wants that; `None`: the first way it offers.
    pub auth_method: Option<String>,
    /// How long it may say nothing while it is its turn to speak.
    pub timeout: Duration,
    /// Between being told to stop and being ended.
    pub cancel_grace: Duration,
}

impl AcpAgent {
    pub fn new(command: impl Into<String>, cwd: impl Into<PathBuf>, environment: Environment) -> Self {
        Self {
            command: command.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            env: Vec::new(),
            environment,
            auth_method: None,
            timeout: Duration::from_secs(300),
            cancel_grace: Duration::from_secs(5),
        }
    }
}
