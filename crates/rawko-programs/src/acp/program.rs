//! `AcpAgent`: how a coding agent that is installed here is started. Separate from the protocol, which a build may leave
//! out.

use std::path::PathBuf;
use std::time::Duration;

use rawko_process::{Confinement, Profile, ProjectAccess};
use rawko_settings::Environment;

/// A program that speaks the Agent Client Protocol on stdin and stdout. A process is started for each turn.
#[derive(Clone)]
pub struct AcpAgent {
    pub command: String,
    pub args: Vec<String>,
    /// Root of the project. Absolute, because it is sent to the agent.
    pub cwd: PathBuf,
    pub env: Vec<(String, String)>,
    /// Source of the few variables that every program gets; others are listed in `env`.
    pub environment: Environment,
    /// A program of an agent that may not write cannot either.
    pub profile: Profile,
    pub confinement: Confinement,
    /// Authentication method, if the agent requires one; `None`: the first method it lists.
    pub auth_method: Option<String>,
    /// Maximum silence of the agent during its turn.
    pub timeout: Duration,
    /// Time between the cancel request and the end of the process.
    pub cancel_grace: Duration,
}

impl AcpAgent {
    pub fn new(command: impl Into<String>, cwd: impl Into<PathBuf>, environment: Environment) -> Self {
        let cwd = cwd.into();
        Self {
            command: command.into(),
            args: Vec::new(),
            profile: Profile::Program(ProjectAccess::Write),
            confinement: environment.confinement(&cwd),
            cwd,
            env: Vec::new(),
            environment,
            auth_method: None,
            timeout: Duration::from_secs(300),
            cancel_grace: Duration::from_secs(5),
        }
    }
}
