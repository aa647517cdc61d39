//! Rows of the instance list.

use rawko_core::Status;
use rawko_host::{HostError, Reader, Restored, Spent};
use rawko_store::{InstanceRow, Wait};
use serde::Serialize;
use serde_json::Value;
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

#[cfg(feature = "openapi")]
use crate::vocabulary::{StatusWord, WaitWord};

/// An instance in a list.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Row {
    pub id: String,
    pub chart: String,
    pub version: String,
    /// Hash of the chart version that the instance started with.
    pub chart_hash: String,
    #[cfg_attr(feature = "openapi", schema(value_type = StatusWord))]
    pub status: Status,
    /// Kind of input that the instance waits for.
    #[cfg_attr(feature = "openapi", schema(value_type = WaitWord))]
    pub waits_for: Wait,
    /// Due time of the next timer.
    pub next_due_ms: Option<i64>,
    /// Reason why the host stopped driving it: a step failed.
    pub fault: Option<String>,
    pub step: u64,
    pub created_ms: i64,
    pub updated_ms: i64,
    pub parent: Option<ParentRef>,
    pub forked_from: Option<OriginRef>,
    /// Agent that the instance runs.
    pub agent: Option<String>,
    pub spent: SpentDocument,
    /// Innermost active states; null if they cannot be read.
    pub configuration: Option<Vec<String>>,
}

/// Parent instance and its invoke.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct ParentRef {
    pub id: String,
    pub invoke: String,
}

/// Past step that the instance was forked from.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct OriginRef {
    pub id: String,
    pub step: u64,
}

/// Usage of an instance and its descendants so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Spent))]
pub struct SpentDocument {
    pub tokens: u64,
    pub cost_usd: f64,
    /// Time that agents were running.
    pub time_ms: u64,
    pub tool_calls: u64,
}

impl Row {
    /// Builds the row from the store only; the states would require the snapshot.
    pub fn of(row: &InstanceRow) -> Row {
        let (new, head) = (&row.new, &row.head);
        let Spent { tokens, cost_usd, time_ms, tool_calls } = spent(row);
        Row {
            id: new.id.to_string(),
            chart: new.chart_id.to_string(),
            version: new.version.to_string(),
            chart_hash: new.chart.iter().map(|byte| format!("{byte:02x}")).collect(),
            status: head.status,
            waits_for: head.wait,
            next_due_ms: head.next_due_ms,
            fault: head.fault.as_deref().map(str::to_owned),
            step: row.step,
            created_ms: new.created_ms,
            updated_ms: row.updated_ms,
            parent: new
                .parent
                .as_ref()
                .map(|parent| ParentRef { id: parent.id.to_string(), invoke: parent.invoke.to_string() }),
            forked_from: new
                .origin
                .as_ref()
                .map(|origin| OriginRef { id: origin.id.to_string(), step: origin.step }),
            agent: new.agent().map(|agent| agent.to_string()),
            spent: SpentDocument { tokens, cost_usd, time_ms, tool_calls },
            configuration: None,
        }
    }

    /// Returns rows with their active states, for one page of the list.
    pub fn with_states(reader: &Reader, rows: &[InstanceRow]) -> Result<Vec<Row>, HostError> {
        let restored = reader.snapshots(rows)?;
        let states = |restored: Restored| {
            let paths = restored.chart.leaf_paths(restored.snapshot.configuration());
            paths.map(str::to_owned).collect()
        };
        let rows = rows.iter().zip(restored);
        Ok(rows.map(|(row, restored)| Row { configuration: restored.map(states), ..Row::of(row) }).collect())
    }
}

/// A fault takes precedence over the status.
pub fn status_word(row: &InstanceRow) -> &'static str {
    if row.head.fault.is_some() && !row.head.status.is_over() { "fault" } else { row.head.status.as_str() }
}

/// Returns the active states; `None` if the snapshot cannot be read, which `show` explains.
pub fn states(reader: &Reader, row: &InstanceRow) -> Option<Vec<String>> {
    let restored = reader.snapshot(row, None).ok()?;
    let paths = restored.chart.leaf_paths(restored.snapshot.configuration());
    Some(paths.map(str::to_owned).collect())
}

pub fn row_json(row: &InstanceRow) -> Value {
    serde_json::to_value(Row::of(row)).unwrap_or_default()
}

/// Returns the usage of an instance and its descendants so far.
pub fn spent(row: &InstanceRow) -> Spent {
    let ledger = row.head.ledger.as_deref();
    let ledger: rawko_core::Value =
        ledger.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    Spent::of(ledger.get("total"))
}
