//! Usage of an instance at this moment. The ledger of an instance counts a child once it has ended, so what runs below is
//! added here. Separate from the rows, because it reads other instances.

use rawko_core::Status;
use rawko_host::{SnapshotReader, Spent};
use rawko_store::{InstanceRow, StoreError, WaitReason};

use crate::lists::GENERATIONS_MAX;
use crate::rows::{is_awaited, spent};

/// Returns the usage of an instance and everything below it, including children that still run and those that were stopped a
/// moment ago.
pub fn spent_until_now(reader: &SnapshotReader, row: &InstanceRow) -> Result<Spent, StoreError> {
    spent_within(reader, row, GENERATIONS_MAX)
}

fn spent_within(reader: &SnapshotReader, row: &InstanceRow, depth: u32) -> Result<Spent, StoreError> {
    let mut sum = spent(row);
    if depth == 0 || !may_have_uncounted(row) {
        return Ok(sum);
    }
    for child in reader.store().children(&row.new.id)? {
        if is_uncounted(row, &child) {
            sum = sum.plus(spent_within(reader, &child, depth - 1)?);
        }
    }
    Ok(sum)
}

/// Returns true if the usage of a child is not part of its parent's. That of a stalled child is: its failure was reported.
pub fn is_uncounted(parent: &InstanceRow, child: &InstanceRow) -> bool {
    child.head.status == Status::Active || is_awaited(parent, &child.new.id)
}

/// A running child keeps its parent at work, unless a person is asked or it is paused. A list reads the children of no other
/// row.
fn may_have_uncounted(row: &InstanceRow) -> bool {
    match row.head.wait {
        WaitReason::Work | WaitReason::Person | WaitReason::Paused => true,
        WaitReason::Event | WaitReason::Timer | WaitReason::Nothing => awaits(row),
    }
}

/// Returns true if children were stopped whose usage is not known yet.
pub(crate) fn awaits(row: &InstanceRow) -> bool {
    row.head.ledger.as_deref().is_some_and(|ledger| ledger.contains("\"awaited\""))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rawko_store::{Commit, Head, InstanceKey, MemoryStore, NewInstance, ParentInvocation, Store};

    use super::*;

    /// A task of 10 tokens with an agent that ended (counted), one that runs (20) with a helper (5), one that was stopped a moment ago
    /// (7), and one that stalled (counted).
    #[test]
    fn running_children_are_part_of_the_usage() {
        let store = MemoryStore::new();
        let instances: [(&str, Option<&str>, Status, u64); 6] = [
            ("task", None, Status::Active, 10),
            ("task.a", Some("task"), Status::Done, 4),
            ("task.b", Some("task"), Status::Active, 20),
            ("task.b.c", Some("task.b"), Status::Active, 5),
            ("task.d", Some("task"), Status::Cancelled, 7),
            ("task.e", Some("task"), Status::Error, 3),
        ];
        for (at, (id, parent, status, tokens)) in instances.into_iter().enumerate() {
            let parent = parent.map(|parent| ParentInvocation {
                id: parent.into(),
                invocation: 0,
                invoke: "run".into(),
                generation: 1,
            });
            let new = NewInstance {
                id: id.into(),
                chart: [7; 16],
                chart_id: "any".into(),
                version: "1.0.0".into(),
                parent,
                origin: None,
                created_ms: 1_000,
                policy: "".into(),
            };
            let awaited = if id == "task" { r#","awaited":{"task.d":[]}"# } else { "" };
            let ledger = format!(r#"{{"total":{{"tokens":{tokens}}}{awaited}}}"#);
            let wait = if status.is_over() { WaitReason::Nothing } else { WaitReason::Work };
            let head = Some(Box::new(Head { status, wait, ledger: Some(ledger.into()), ..Head::default() }));
            let instance = InstanceKey(i64::try_from(at).unwrap() + 1);
            store
                .commit(&[Commit { instance, create: Some(Box::new(new)), head, ..Commit::default() }])
                .unwrap();
        }
        let reader = SnapshotReader::new(Arc::new(store));
        for (id, tokens) in [("task", 42), ("task.b", 25), ("task.a", 4)] {
            let row = reader.find(id).unwrap();
            assert_eq!(spent_until_now(&reader, &row).unwrap().tokens, tokens, "{id}");
            assert_eq!(crate::rows::Row::read(&reader, &row).spent.tokens, tokens, "{id}");
        }
    }
}
