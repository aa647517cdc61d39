//! Instances as lists show them.

use rawko_core::Value;
use rawko_host::{Reader, Spent};
use rawko_store::InstanceRow;
use serde_json::{Value as Json, json};

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

/// An instance as lists know it.
pub fn row_json(row: &InstanceRow) -> Json {
    let new = &row.new;
    json!({
        "id": new.id,
        "chart": new.chart_id,
        "version": new.version,
        "status": row.head.status.as_str(),
        "waits_for": row.head.wait.as_str(),
        "next_due_ms": row.head.next_due_ms,
        "fault": row.head.fault,
        "step": row.step,
        "created_ms": new.created_ms,
        "updated_ms": row.updated_ms,
        "parent": new.parent.as_ref().map(|parent| json!({"id": parent.id, "invoke": parent.invoke})),
        "forked_from": new.origin.as_ref().map(|origin| json!({"id": origin.id, "step": origin.step})),
    })
}

/// What an instance and everything below it has cost so far.
pub fn spent(row: &InstanceRow) -> Spent {
    let ledger = row.head.ledger.as_deref();
    let ledger: Value = ledger.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    Spent::of(ledger.get("total"))
}
