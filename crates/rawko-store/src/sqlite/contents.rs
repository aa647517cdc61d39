//! Verifies the large values that records, snapshots and effects refer to, for `doctor` and backups: each blob has the
//! content of its name, and each reference leads to one.

use rusqlite::{Connection, Result};
use rustc_hash::{FxHashMap, FxHashSet};

use super::rows::uint;
use crate::references;
use crate::report::{ChainKind, ChainProblem};
use rawko_instance::content;

/// Queries of texts with references: the instance's key, the step, and the texts.
const TEXTS: [&str; 4] = [
    "SELECT instance, step, event, delta, effects FROM journal",
    "SELECT instance, step, body FROM snapshots",
    "SELECT instance, step, body, result FROM effects",
    "SELECT \"to\", 0, event FROM inbound",
];

/// Passes damaged and missing values to the callback, at most one per instance.
pub(super) fn verify(connection: &Connection, tell: &mut dyn FnMut(ChainProblem)) -> Result<()> {
    let (known, lists) = blobs(connection)?;
    let mut told = FxHashSet::default();
    for sql in TEXTS {
        let mut statement = connection.prepare(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (instance, step): (i64, i64) = (row.get(0)?, row.get(1)?);
            let mut names = FxHashSet::default();
            for column in 2..columns {
                // A text that cannot be read is reported by the check of its table.
                let text = row.get_ref(column)?.as_bytes_or_null().ok().flatten();
                if let Some(text) = text.and_then(|text| std::str::from_utf8(text).ok()) {
                    references::collect(text, &mut names);
                }
            }
            let Some(missing) = missing(names, &known, &lists) else { continue };
            if told.insert(instance) {
                let message =
                    format!("the stored value {} is missing or was modified", content::hex(&missing));
                tell(ChainProblem {
                    chain: ChainKind::Journal,
                    instance: Some(name(connection, instance)),
                    step: (step > 0).then(|| uint(step)),
                    message,
                });
            }
        }
    }
    Ok(())
}

/// References of one list, by its name.
type Lists = FxHashMap<[u8; 16], FxHashSet<[u8; 16]>>;

/// Returns the sound blobs, and the references in those that are lists.
fn blobs(connection: &Connection) -> Result<(FxHashSet<[u8; 16]>, Lists)> {
    let (mut known, mut lists) = (FxHashSet::default(), Lists::default());
    let mut statement = connection.prepare("SELECT hash, body FROM blobs")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (Ok(hash), Ok(body)) = (row.get::<_, [u8; 16]>(0), row.get_ref(1)?.as_bytes()) else { continue };
        if content::hash(body) != hash {
            continue;
        }
        known.insert(hash);
        let mut nested = FxHashSet::default();
        references::collect_nested(body, &mut nested);
        if !nested.is_empty() {
            lists.insert(hash, nested);
        }
    }
    Ok((known, lists))
}

/// Returns a name that leads to no sound blob, directly or through lists.
fn missing(names: FxHashSet<[u8; 16]>, known: &FxHashSet<[u8; 16]>, lists: &Lists) -> Option<[u8; 16]> {
    let mut seen = names.clone();
    let mut open: Vec<[u8; 16]> = names.into_iter().collect();
    while let Some(name) = open.pop() {
        if !known.contains(&name) {
            return Some(name);
        }
        let nested = lists.get(&name).into_iter().flatten();
        open.extend(nested.filter(|name| seen.insert(**name)));
    }
    None
}

fn name(connection: &Connection, key: i64) -> String {
    let sql = "SELECT CAST(id AS TEXT) FROM instances WHERE key = ?1";
    connection.query_row(sql, [key], |row| row.get(0)).unwrap_or_else(|_| format!("#{key}"))
}
