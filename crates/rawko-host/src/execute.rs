//! Runs a chart to its end as one call: the format's execution mode, for programs that embed rawko.

use std::sync::Arc;
use std::time::Duration;

use rawko_core::{Status, Value};

use crate::activity::SettleReason;
use crate::error::HostError;
use crate::host::{Host, StartOptions};

/// The result of an execution.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionResults {
    /// Instance id.
    pub instance: Arc<str>,
    /// `Done`, `Cancelled`, or `Error` for a failure that the chart does not handle.
    pub status: Status,
    /// The output of the final state.
    pub output: Value,
    /// The final context.
    pub context: Value,
    /// The final active states.
    pub configuration: Vec<String>,
    /// Steps taken, counting the start.
    pub steps: u64,
    /// The error, if the status is `Error`.
    pub error: Value,
}

impl Host {
    /// Runs a chart by id and version (`latest`, a version, or a range) from an initial context to a final state, and
    /// returns its results. Services are the host's own; events and answers may arrive from other callers meanwhile.
    pub async fn execute(
        &self,
        id: &str,
        version: &str,
        initial_context: Value,
    ) -> Result<ExecutionResults, HostError> {
        let version = if version.is_empty() { "latest" } else { version };
        let chart = format!("{id}@{version}");
        let started = self.start(StartOptions { chart, input: initial_context, id: None }).await?;
        let mut changes = self.changes();
        loop {
            changes.borrow_and_update();
            match self.settled(&started.instance, Duration::MAX).await? {
                SettleReason::Over(_) | SettleReason::Failed => return self.results(&started.instance),
                SettleReason::Stuck(error) => return Err(error.into()),
                // Another caller has to send the event or answer that the instance waits for, or to resume it.
                SettleReason::Waiting(_) | SettleReason::Paused => {
                    if changes.changed().await.is_err() {
                        return Err(HostError::Closing);
                    }
                }
            }
        }
    }

    /// Returns the current state of an instance as results.
    pub fn results(&self, id: &str) -> Result<ExecutionResults, HostError> {
        let row = self.inner.reader.find(id)?;
        let restored = self.inner.reader.snapshot(&row, None)?;
        let (chart, snapshot) = (&restored.chart, &restored.snapshot);
        Ok(ExecutionResults {
            instance: row.new.id,
            status: snapshot.status(),
            output: snapshot.output().clone(),
            context: snapshot.context_map(chart),
            configuration: chart.leaf_paths(snapshot.configuration()).map(str::to_owned).collect(),
            steps: snapshot.step_number(),
            error: snapshot.failure().map_or(Value::Null, |failure| failure.error.clone()),
        })
    }
}
