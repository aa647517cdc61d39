//! A process agent, and one turn of it from the start of its process to its end.

use std::path::PathBuf;
use std::time::Duration;

use rawko_process::{Confinement, Profile, ProjectAccess};
use rawko_settings::Environment;

use super::child::{Child, Launch};
use super::exchange::{Exchange, Limits, Stopped};
use super::lines::{LineReader, LineWriter};
use super::turn::{TurnError, TurnHost, TurnRequest, TurnResult, in_time};

/// A command that speaks the process protocol. Each turn starts a process.
#[derive(Clone)]
pub struct ProcessAgent {
    pub command: String,
    pub args: Vec<String>,
    pub cwd: PathBuf,
    pub env: Vec<(String, String)>,
    /// The command inherits a short list of variables; the rest must be named in `env`.
    pub environment: Environment,
    /// A program of an agent that may not write cannot either.
    pub profile: Profile,
    pub confinement: Confinement,
    /// Silence timeout while the agent is expected to send.
    pub timeout: Duration,
    /// Time between a cancel and termination.
    pub cancel_grace: Duration,
    /// Limit of one line, and of all text of a turn.
    pub line_bytes_max: usize,
}

impl ProcessAgent {
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
            timeout: Duration::from_secs(300),
            cancel_grace: Duration::from_secs(5),
            line_bytes_max: 8 * 1024 * 1024,
        }
    }

    /// Runs one turn. The process and its children are terminated, also when this future is dropped.
    pub async fn turn(&self, request: TurnRequest, host: &dyn TurnHost) -> Result<TurnResult, TurnError> {
        let launch = Launch {
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
        let limits = Limits {
            silence: self.timeout,
            cancel_grace: self.cancel_grace,
            text_bytes_max: self.line_bytes_max,
        };
        let (lines, writer) = (LineReader::new(stdout, self.line_bytes_max), LineWriter::new(stdin));
        let mut exchange = Exchange::new(host, lines, writer, limits);
        let ended = exchange.run(&request).await;
        // Closing the input asks the command to exit.
        drop(exchange);
        let result = match ended {
            Ok(result) => Ok(result),
            Err(stopped) => Err(self.in_words(stopped, &child).await),
        };
        child.end().await;
        child.restore_authority();
        result
    }

    async fn in_words(&self, stopped: Stopped, child: &Child) -> TurnError {
        match stopped {
            Stopped::OutputEnded => {
                // The end of the output arrives before the exit status.
                let _ = tokio::time::timeout(Duration::from_secs(2), child.ended()).await;
                TurnError::Ended(child.ending_in_words().await)
            }
            Stopped::Silent => {
                TurnError::Silent { within: in_time(self.timeout), detail: child.ending_in_words().await }
            }
            Stopped::Malformed(why) => TurnError::Malformed(why),
            Stopped::LineTooLong => {
                TurnError::TooLong { bytes_max: self.line_bytes_max, what: "in one line" }
            }
            Stopped::TextTooLong => {
                TurnError::TooLong { bytes_max: self.line_bytes_max, what: "of text in one turn" }
            }
            Stopped::Reported { code, message } => TurnError::Reported { code, message },
            Stopped::Cancelled => TurnError::Cancelled,
        }
    }
}
