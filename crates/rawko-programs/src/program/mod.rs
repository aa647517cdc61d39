//! Agents that are programs: one description of the program, one request and result of a turn, and one host that serves
//! it. The protocols are wire formats behind them: our JSON lines (`process`) and the Agent Client Protocol (`acp`).

mod host;
mod turn;

pub use host::{
    AgentOperation, AskedKind, CancelFuture, DecisionFuture, EndedCall, OperationVerdict, ProgramHost,
    ReadFuture, WriteFuture,
};
pub(crate) use turn::in_time;
pub use turn::{TurnError, TurnRequest, TurnResult};

use std::path::PathBuf;
use std::time::Duration;

use rawko_process::{Confinement, Profile, ProjectAccess};
use rawko_settings::Environment;

use crate::process::AgentLaunch;
use crate::{acp, process};

/// A program that works as an agent. Each turn starts a process.
#[derive(Clone)]
pub struct ProgramAgent {
    /// The program, by path or by name.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The working directory. Absolute, because it is sent to the program.
    pub cwd: PathBuf,
    /// Environment variables of its own.
    pub env: Vec<(String, String)>,
    /// The program inherits a short list of variables; the rest must be named in `env`.
    pub environment: Environment,
    /// A program of an agent that may not write cannot either.
    pub profile: Profile,
    /// The bounds of the program.
    pub confinement: Confinement,
    /// Silence timeout while the program is expected to send.
    pub timeout: Duration,
    /// Time between a cancel and termination.
    pub cancel_grace: Duration,
    /// The protocol that it speaks.
    pub wire: WireFormat,
}

/// The protocol that a program speaks on stdin and stdout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireFormat {
    /// One JSON object per line (`docs/formats/process-agent.md`). The program uses our tools.
    Lines {
        /// Limit of one line, and of all text of a turn.
        line_bytes_max: usize,
    },
    /// The Agent Client Protocol. The program has tools of its own, and asks before it uses them.
    Acp {
        /// Authentication method, if the program requires one; `None`: the first method it lists.
        auth_method: Option<String>,
    },
}

impl WireFormat {
    /// Our JSON lines, with the default limit.
    pub fn lines() -> Self {
        WireFormat::Lines { line_bytes_max: 8 * 1024 * 1024 }
    }

    /// The Agent Client Protocol, with the first authentication method.
    pub fn acp() -> Self {
        WireFormat::Acp { auth_method: None }
    }

    /// Returns true if the program uses our tools; otherwise it has its own.
    pub fn takes_tools(&self) -> bool {
        match self {
            WireFormat::Lines { .. } => true,
            WireFormat::Acp { .. } => false,
        }
    }
}

impl ProgramAgent {
    /// Creates a program with default limits.
    pub fn new(
        wire: WireFormat,
        command: impl Into<String>,
        cwd: impl Into<PathBuf>,
        environment: Environment,
    ) -> Self {
        let cwd = cwd.into();
        Self {
            command: command.into(),
            args: Vec::new(),
            profile: Profile::Program(ProjectAccess::Write),
            confinement: environment.confinement(&cwd),
            cwd,
            env: Vec::new(),
            environment,
            timeout: Duration::from_secs(300),
            cancel_grace: Duration::from_secs(5),
            wire,
        }
    }

    /// Runs one turn. The process and its children are terminated, also when this future is dropped. A program with
    /// tools of its own gets neither `tools` nor `messages` of the request: its session keeps the messages.
    pub async fn turn(&self, request: TurnRequest, host: &dyn ProgramHost) -> Result<TurnResult, TurnError> {
        if let WireFormat::Acp { .. } = self.wire {
            acp::insist_on_feature(&self.command)?;
        }
        let launch = AgentLaunch {
            program: self.command.clone(),
            args: self.args.clone(),
            cwd: self.cwd.clone(),
            env: self.env.clone(),
            profile: self.profile,
            confinement: self.confinement.clone(),
        };
        let (mut child, stdin, stdout) =
            launch.start(&self.environment).await.map_err(TurnError::NotStarted)?;
        child.guard_authority();
        let pipes = (stdin, stdout);
        let result = match &self.wire {
            WireFormat::Lines { line_bytes_max } => {
                process::converse(self, *line_bytes_max, pipes, &request, host, &child).await
            }
            WireFormat::Acp { auth_method } => {
                acp::converse(self, auth_method.as_deref(), pipes, &request, host, &child).await
            }
        };
        child.end().await;
        child.restore_authority();
        host.wanted(child.wanted_hosts());
        result
    }
}
