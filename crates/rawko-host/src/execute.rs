//! Running a chart to its end as one call: the format's execution mode, for programs that embed rawko.

use std::sync::Arc;
use std::time::Duration;

use rawko_core::{Status, Value};

use crate::activity::Settled;
use crate::error::HostError;
use crate::host::{Host, Start};

/// What came of an execution.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionResults {
    pub instance: Arc<str>,
    /// `Done`; `Error` if something failed that the chart does not handle; `Cancelled`.
    pub status: Status,
    /// The output of the final state.
    pub output: Value,
    /// The context as it was in the end.
    pub context: Value,
    /// The active states in the end.
    pub configuration: Vec<String>,
    pub steps: u64,
    /// What failed, when the status is `Error`.
    pub error: Value,
}

impl Host {
    /// Runs a chart by id and version (`latest`, a version, or a range) from an initial context until a final state,
    /// and returns what came of it. Services are the host's own; events and answers may come from elsewhere meanwhile.
    pub async fn execute(
        &self,
        id: &str,
        version: &str,
        initial_context: Value,
    ) -> Result<ExecutionResults, HostError> {
        let version = if version.is_empty() { "latest" } else { version };
        let chart = format!("{id}@{version}");
        let started = self.start(Start { chart, input: initial_context, id: None }).await?;
        let mut changes = self.changes();
        loop {
            changes.borrow_and_update();
            match self.settled(&started.instance, Duration::MAX).await? {
                Settled::Over(_) | Settled::Failed => return self.results(&started.instance),
                Settled::Stuck(error) => return Err(error.into()),
                // Somebody else has to do something; it is their turn, not ours.
                Settled::Waiting(_) => {
                    if changes.changed().await.is_err() {
                        return Err(HostError::Closing);
                    }
                }
            }
        }
    }

    /// How an instance stands now, as results.
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
