//! A build without the feature `acp`: a turn fails with an error that names the feature.

use tokio::process::{ChildStdin, ChildStdout};

use crate::process::AgentProcess;
use crate::program::{ProgramAgent, ProgramHost, TurnError, TurnRequest, TurnResult};

/// Fails: this build has no Agent Client Protocol.
pub(crate) fn insist_on_feature(command: &str) -> Result<(), TurnError> {
    let why = "this build of rawko has no Agent Client Protocol; build it with `--features acp` (or `full`)";
    Err(TurnError::NotStarted(format!("`{command}`: {why}")))
}

/// Fails as [`insist_on_feature`] does, before a program is started.
pub(crate) async fn converse(
    agent: &ProgramAgent,
    _auth_method: Option<&str>,
    _pipes: (ChildStdin, ChildStdout),
    _request: &TurnRequest,
    _host: &dyn ProgramHost,
    _child: &AgentProcess,
) -> Result<TurnResult, TurnError> {
    insist_on_feature(&agent.command)?;
    Err(TurnError::Cancelled)
}
