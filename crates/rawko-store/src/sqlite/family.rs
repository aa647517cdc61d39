//! Reads an instance with its descendants in one transaction, and adds one from another store.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};
use rustc_hash::FxHashSet;

use super::fault::StoreReadError;
use super::journal;
use super::rows::{self, AUDIT, CHART};
use super::snapshots::SnapshotRow;
use super::{SqliteStore, instances, row_counts, seals};
use crate::StoreError;
use crate::references;
use crate::store::Store;
use crate::transfer::{FamilyMember, InstanceFamily};
use crate::{Blob, InstanceRow};

type SqliteResult<T> = std::result::Result<T, StoreReadError>;

impl SqliteStore {
    /// Returns an instance with all of its data and its descendants; `None` if it does not exist. Fails if any of it is
    /// damaged.
    pub fn family(&self, id: &str) -> std::result::Result<Option<InstanceFamily>, StoreError> {
        self.read(|connection| read(connection, id))
    }

    /// Adds a family from another store, all or nothing. Fails if an id is in use or a journal is inconsistent.
    pub fn adopt(&self, family: InstanceFamily) -> std::result::Result<(), StoreError> {
        for chart in &family.charts {
            self.put_chart(chart)?;
        }
        let marks = self.marks()?;
        self.commit(&family.commits(marks))
    }
}

fn read(connection: &Connection, id: &str) -> SqliteResult<Option<InstanceFamily>> {
    let Some(root) = instances::find(connection, id)? else { return Ok(None) };
    let mut family = InstanceFamily::default();
    let (mut open, mut names, mut charts) = (vec![root.key], FxHashSet::default(), FxHashSet::default());
    while let Some(key) = open.pop() {
        let Some(row) = instances::instance(connection, key)? else { continue };
        let children = instances::children(connection, &row.new.id)?;
        open.extend(children.into_iter().rev().map(|child| child.key));
        let current = row.new.chart;
        let member = member(connection, row)?;
        for hash in std::iter::once(current).chain(member.earlier_charts()) {
            if charts.insert(hash) {
                let sql = format!("SELECT {CHART} FROM charts WHERE hash = ?1");
                let chart = connection.prepare_cached(&sql)?.query_row([hash], rows::chart).optional()?;
                family.charts.extend(chart);
            }
        }
        member.collect_names(&mut names);
        family.members.push(member);
    }
    family.blobs = blobs(connection, names)?;
    Ok(Some(family))
}

fn member(connection: &Connection, row: InstanceRow) -> SqliteResult<FamilyMember> {
    let key = row.key;
    let mut snapshots = Vec::new();
    for (step, saved) in SnapshotRow::all(connection, key)? {
        let saved =
            saved.map_err(|error| StoreReadError::unreadable(connection, key, step, "snapshot", error))?;
        if !saved.is_sound(key) {
            let what = "the snapshot was modified";
            return Err(StoreReadError::damaged(connection, key, step, what));
        }
        snapshots.push(saved.into_snapshot());
    }
    row_counts::check(connection, key)?;
    let effects = seals::effects(connection, key)?;
    let inbound = seals::messages(connection, key)?.into_iter().map(|message| message.event).collect();
    let sql = "SELECT key, step, seal FROM deliveries WHERE instance = ?1 ORDER BY key";
    let delivery = |row: &rusqlite::Row<'_>| rows::delivery(row, key.0);
    let deliveries = rows_of(connection, sql, key.0, delivery)?;
    let sql = format!("SELECT {AUDIT} FROM audit WHERE instance = ?1 ORDER BY line");
    let audit = rows_of(connection, &sql, Arc::clone(&row.new.id), rows::audit)?;
    let records = journal::whole(connection, key)?;
    Ok(FamilyMember { new: row.new, head: row.head, records, snapshots, effects, inbound, deliveries, audit })
}

fn rows_of<T>(
    connection: &Connection,
    sql: &str,
    value: impl rusqlite::ToSql,
    row: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare_cached(sql)?.query_map([value], row)?.collect()
}

/// Returns these blobs and those that they name.
fn blobs(connection: &Connection, mut names: FxHashSet<[u8; 16]>) -> SqliteResult<Vec<Blob>> {
    let mut open: Vec<[u8; 16]> = names.iter().copied().collect();
    open.sort_unstable();
    let mut found = Vec::new();
    while let Some(name) = open.pop() {
        let mut statement = connection.prepare_cached("SELECT hash, body FROM blobs WHERE hash = ?1")?;
        // A text that only looks like a reference names none.
        let Some(blob) = statement.query_row([name], rows::blob).optional()? else { continue };
        let mut nested = FxHashSet::default();
        references::collect_nested(&blob.body, &mut nested);
        let mut nested: Vec<[u8; 16]> = nested.into_iter().filter(|name| names.insert(*name)).collect();
        nested.sort_unstable();
        open.append(&mut nested);
        found.push(blob);
    }
    Ok(found)
}
