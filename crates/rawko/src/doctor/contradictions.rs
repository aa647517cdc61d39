//! Instances whose rows contradict their journal. Apart from the store's own checks, because it takes the charts: hash
//! chains cover the journal, not the status, timers and open effects beside it.

use rawko_host::{HostError, SnapshotReader};
use rawko_store::{Filter, InstanceRow, StoreError};

const PAGE: usize = 500;
const NAMED_MAX: usize = 10;
/// A host may commit between two reads of one instance.
const ATTEMPTS: u32 = 5;

/// Returns the first contradictions, each with its instance and step.
pub(crate) fn find(reader: &SnapshotReader) -> Result<Vec<String>, StoreError> {
    let mut found = Vec::new();
    let mut filter = Filter { limit: PAGE, ..Filter::default() };
    loop {
        let page = reader.store().list(&filter)?;
        for row in page.rows {
            found.extend(contradiction(reader, row));
            if found.len() >= NAMED_MAX {
                return Ok(found);
            }
        }
        if page.next.is_none() {
            return Ok(found);
        }
        filter.before = page.next;
    }
}

fn contradiction(reader: &SnapshotReader, row: InstanceRow) -> Option<String> {
    let id = row.new.id.to_string();
    let mut result = reader.verify(row);
    for _ in 1..ATTEMPTS {
        if result.is_ok() {
            return None;
        }
        result = match reader.find(&id) {
            Ok(row) => reader.verify(row),
            // It was pruned meanwhile.
            Err(HostError::NoInstance(_)) => return None,
            Err(error) => Err(error),
        };
    }
    match result.err()? {
        HostError::Store(StoreError::Damaged(what)) => Some(what),
        error => Some(format!("instance `{id}`: {error}")),
    }
}
