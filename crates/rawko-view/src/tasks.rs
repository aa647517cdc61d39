//! Tasks: instances of the orchestrator chart, with data from its context.

use rawko_host::SnapshotReader;
use rawko_store::InstanceRow;
use serde::Serialize;
use serde_json::Value;
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

use crate::rows::{Row, state};

/// A task in a list.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Task))]
pub struct TaskDocument {
    /// Row of the orchestrator instance.
    #[serde(flatten)]
    pub row: Row,
    /// Description of the task.
    pub task: String,
    /// Number of agent runs started.
    pub iteration: u64,
    /// Plan as maintained by the agents; null before there is one.
    pub plan: Value,
    /// Agent that is running.
    pub current_agent: Option<String>,
}

impl TaskDocument {
    /// Reads the task from the context; its own fields are empty if the snapshot cannot be read.
    pub fn of(reader: &SnapshotReader, row: &InstanceRow) -> TaskDocument {
        let restored = reader.snapshot(row, None).ok();
        let context = restored.as_ref().map(|restored| restored.snapshot.context_map(&restored.chart));
        let context = context.unwrap_or_default();
        let agent = context.get("currentAgent");
        let agent = agent.as_str().or_else(|| agent.get("name").as_str());
        let known = Row::of(row);
        TaskDocument {
            row: known
                .clone()
                .live_in_list(reader, row)
                .unwrap_or(known)
                .with(restored.as_ref().map(state).as_ref()),
            task: context.get("task").as_str().unwrap_or_default().to_owned(),
            iteration: context.get("iterationCount").as_i64().unwrap_or(0).unsigned_abs(),
            plan: context.get("plan").to_json(),
            current_agent: agent.map(str::to_owned),
        }
    }
}
