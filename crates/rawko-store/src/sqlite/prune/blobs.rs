//! Finds the blobs that an instance needs, and those that are no longer needed.

use rusqlite::{Connection, OptionalExtension, Result, ToSql};
use rustc_hash::FxHashSet;

use crate::references;

type BlobNames = FxHashSet<[u8; 16]>;

/// Queries for the texts of one instance that may name blobs.
const OF_INSTANCE: [&str; 4] = [
    "SELECT event, delta, effects FROM journal WHERE seq IN (SELECT seq FROM journal_index WHERE instance = ?1
         UNION ALL SELECT seq FROM journal WHERE seq > (SELECT indexed_through FROM marks) AND instance = ?1)",
    "SELECT body, '', '' FROM snapshots WHERE instance = ?1",
    "SELECT body, result, '' FROM effects WHERE instance = ?1",
    "SELECT event, '', '' FROM inbound WHERE \"to\" = ?1",
];

/// Queries for the texts of all instances.
const OF_ALL: [&str; 4] = [
    "SELECT event, delta, effects FROM journal",
    "SELECT body, '', '' FROM snapshots",
    "SELECT body, result, '' FROM effects",
    "SELECT event, '', '' FROM inbound",
];

pub(super) fn of_instance(connection: &Connection, key: i64) -> Result<Vec<[u8; 16]>> {
    let mut names = BlobNames::default();
    for sql in OF_INSTANCE {
        collect(connection, sql, &[&key], &mut names)?;
    }
    let reached = reach(connection, names)?;
    let mut reached: Vec<[u8; 16]> = reached.into_iter().collect();
    reached.sort_unstable();
    Ok(reached)
}

/// Returns those of `candidates` that no text in the store names.
pub(super) fn unneeded(connection: &Connection, candidates: BlobNames) -> Result<Vec<[u8; 16]>> {
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let mut names = BlobNames::default();
    for sql in OF_ALL {
        collect(connection, sql, &[], &mut names)?;
    }
    let needed = reach(connection, names)?;
    let mut unneeded: Vec<[u8; 16]> =
        candidates.into_iter().filter(|candidate| !needed.contains(candidate)).collect();
    unneeded.sort_unstable();
    Ok(unneeded)
}

fn collect(connection: &Connection, sql: &str, values: &[&dyn ToSql], names: &mut BlobNames) -> Result<()> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        for column in 0..3 {
            // An unreadable text cannot be searched for names.
            if let Ok(text) = row.get_ref(column)?.as_str() {
                references::collect(text, names);
            }
        }
    }
    Ok(())
}

/// Returns these and all blobs reachable from them.
fn reach(connection: &Connection, mut names: BlobNames) -> Result<BlobNames> {
    let mut open: Vec<[u8; 16]> = names.iter().copied().collect();
    // Only list blobs hold references. Their first byte identifies them, so long texts are not read.
    let sql = "SELECT body FROM blobs WHERE hash = ?1 AND substr(body, 1, 1) = x'6c'";
    while let Some(name) = open.pop() {
        let mut statement = connection.prepare_cached(sql)?;
        let body: Option<Vec<u8>> = statement.query_row([name], |row| row.get(0)).optional()?;
        let mut nested = BlobNames::default();
        references::collect_nested(body.as_deref().unwrap_or_default(), &mut nested);
        open.extend(nested.into_iter().filter(|name| names.insert(*name)));
    }
    Ok(names)
}
