//! Several instances read as one journal: an instance and everything below it, in the store's order, from any place on
//! and back from any place. Each is read by its own index, so that whatever else the store holds costs nothing.

use rawko_store::{InstanceRow, Record, Store, StoreError};

/// More than this below one instance is not read together.
const MEMBERS_MAX: usize = 10_000;

/// An instance and everything below it.
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

/// Records of these instances with `after < seq <= through`, the first ones.
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

/// Records of these instances with `seq < before`, the last ones, in order. The newest members first: most of the others
/// were over before these began, and need not be read.
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

/// Every step has a record, so as many steps hold as many records, unless the journal begins before.
fn last_of(
    store: &dyn Store,
    member: &InstanceRow,
    before: u64,
    limit: usize,
) -> Result<Vec<Record>, StoreError> {
    let next = store.records(member.key, before.saturating_sub(1), 1)?;
    // One that could not be taken has the number of the step after the last.
    let through = next.first().map_or(member.step + 1, |next| next.step);
    let from = through.saturating_sub(limit as u64);
    let mut records = store.steps(member.key, from..=through, usize::MAX)?;
    records.retain(|record| record.seq < before);
    records.drain(..records.len().saturating_sub(limit));
    Ok(records)
}
