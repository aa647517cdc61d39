//! Instances as lists show them.

use rawko_core::Status;
use rawko_host::{HostError, Reader, Restored, Spent};
use rawko_store::{InstanceRow, Wait};
use serde::Serialize;
use serde_json::Value;
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

#[cfg(feature = "openapi")]
use crate::vocabulary::{StatusWord, WaitWord};

/// An instance as lists know it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct Row {
    pub id: String,
    pub chart: String,
    pub version: String,
    /// Of the very chart that it began with.
    pub chart_hash: String,
    #[cfg_attr(feature = "openapi", schema(value_type = StatusWord))]
    pub status: Status,
    /// What would move it.
    #[cfg_attr(feature = "openapi", schema(value_type = WaitWord))]
    pub waits_for: Wait,
    /// When its next timer is due.
    pub next_due_ms: Option<i64>,
    /// Why the host stopped driving it: a step that could not be taken.
    pub fault: Option<String>,
    pub step: u64,
    pub created_ms: i64,
    pub updated_ms: i64,
    pub parent: Option<ParentRef>,
    pub forked_from: Option<OriginRef>,
    /// The agent that it plays.
    pub agent: Option<String>,
    pub spent: SpentDocument,
    /// The innermost active states; null where they cannot be read.
    pub configuration: Option<Vec<String>>,
}

/// Whose invocation an instance is.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct ParentRef {
    pub id: String,
    pub invoke: String,
}

/// The past step that an instance was forked from.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct OriginRef {
    pub id: String,
    pub step: u64,
}

/// What an instance and everything below it has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Spent))]
pub struct SpentDocument {
    pub tokens: u64,
    pub cost_usd: f64,
    /// Time that agents were at work.
    pub time_ms: u64,
    pub tool_calls: u64,
}

impl Row {
    /// What the row of the store says; the states take reading the snapshot.
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

    /// The same with the active states, for a page of them.
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

/// A step that could not be taken weighs more than the status.
pub fn status_word(row: &InstanceRow) -> &'static str {
    if row.head.fault.is_some() && !row.head.status.is_over() { "fault" } else { row.head.status.as_str() }
}

/// The active states; nothing where the snapshot cannot be read, which `show` explains.
pub fn states(reader: &Reader, row: &InstanceRow) -> Option<Vec<String>> {
    let restored = reader.snapshot(row, None).ok()?;
    let paths = restored.chart.leaf_paths(restored.snapshot.configuration());
    Some(paths.map(str::to_owned).collect())
}

/// A row as JSON.
pub fn row_json(row: &InstanceRow) -> Value {
    serde_json::to_value(Row::of(row)).unwrap_or_default()
}

/// What an instance and everything below it has cost so far.
pub fn spent(row: &InstanceRow) -> Spent {
    let ledger = row.head.ledger.as_deref();
    let ledger: rawko_core::Value =
        ledger.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    Spent::of(ledger.get("total"))
}
