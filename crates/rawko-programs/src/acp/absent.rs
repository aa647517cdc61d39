//! A build without the feature `acp`: a turn fails with an error that names the feature.

use super::host::AcpHost;
use super::program::AcpAgent;
use crate::process::{TurnError, TurnRequest, TurnResult};

impl AcpAgent {
    /// Fails: this build has no Agent Client Protocol.
    pub async fn turn(&self, _: TurnRequest, _: &dyn AcpHost) -> Result<TurnResult, TurnError> {
        let why =
            "this build of rawko has no Agent Client Protocol; build it with `--features acp` (or `full`)";
        Err(TurnError::NotStarted(format!("`{}`: {why}", self.command)))
    }
}
