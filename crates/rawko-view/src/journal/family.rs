//! Reads an instance and its descendants as one journal, in store order, forwards or backwards from any position. Each
//! member is read through its own index, so the rest of the store adds no cost.

use rawko_store::{InstanceRow, Record, Store, StoreError};

/// Limit on instances that are read together.
const MEMBERS_MAX: usize = 10_000;

/// Returns an instance and all its descendants.
pub fn of(store: &dyn Store, root: InstanceRow) -> Result<Vec<InstanceRow>, StoreError> {
    let mut members = vec![root];
    let mut next = 0;
    while let Some(member) = members.get(next) {
        let room = MEMBERS_MAX.saturating_sub(members.len());
        let children = store.children(&member.new.id)?;
        members.extend(children.into_iter().take(room));
        next += 1;
    }
    Ok(members)
}

/// Returns the first records of these instances with `after < seq <= through`.
pub fn after(
    store: &dyn Store,
    members: &[InstanceRow],
    after: u64,
    through: u64,
    limit: usize,
) -> Result<Vec<Record>, StoreError> {
    let mut all = Vec::new();
    for member in members {
        let records = store.records(member.key, after, limit)?;
        all.extend(records.into_iter().filter(|record| record.seq <= through));
    }
    all.sort_unstable_by_key(|record: &Record| record.seq);
    all.truncate(limit);
    Ok(all)
}

/// Returns the last records of these instances with `seq < before`, in order. Reads the newest members first: most
/// older ones finished earlier and need not be read.
pub fn before(
    store: &dyn Store,
    members: &[InstanceRow],
    before: u64,
    limit: usize,
) -> Result<Vec<Record>, StoreError> {
    let mut all: Vec<Record> = Vec::new();
    for member in members.iter().rev() {
        if let Some(oldest) = all.first().filter(|_| all.len() >= limit) {
            let newer = store.records(member.key, oldest.seq, 1)?;
            if newer.is_empty() {
                continue;
            }
        }
        all.extend(last_of(store, member, before, limit)?);
        all.sort_unstable_by_key(|record| record.seq);
        all.drain(..all.len().saturating_sub(limit));
    }
    Ok(all)
}

/// Returns the last records of one member. Every step has a record, so `limit` steps hold at least `limit` records,
/// unless the journal begins later.
fn last_of(
    store: &dyn Store,
    member: &InstanceRow,
    before: u64,
    limit: usize,
) -> Result<Vec<Record>, StoreError> {
    let next = store.records(member.key, before.saturating_sub(1), 1)?;
    // A failed step has the number after the last successful one.
    let through = next.first().map_or(member.step + 1, |next| next.step);
    let from = through.saturating_sub(limit as u64);
    let mut records = store.steps(member.key, from..=through, usize::MAX)?;
    records.retain(|record| record.seq < before);
    records.drain(..records.len().saturating_sub(limit));
    Ok(records)
}
