//! A quick check of the rows that decide what instances do next, for a host that starts: otherwise damage of an instance
//! shows only when that is loaded, and an instance whose open effect was deleted is not. Journals and contents are left
//! to `doctor`.

use rusqlite::{Connection, Result, Row, params};

use super::fault::{cause, is_conversion};
use super::rows::{self, INSTANCE};
use super::{marks, row_counts, seals};
use crate::InstanceKey;
use crate::report::{ChainKind, ChainProblem};
use crate::store::DamagePart;

/// Instances for each read: a long transaction would keep the log from being restarted.
const PART_LEN: i64 = 500;

/// Returns the problems of the next instances after this key; for `None`, also those of effects, messages and `marks`.
pub(super) fn part(connection: &Connection, after: Option<InstanceKey>) -> Result<DamagePart> {
    let mut part = DamagePart::default();
    let mut tell = |problem: ChainProblem| part.problems.push(problem.to_string());
    if after.is_none() {
        seals::verify_open(connection, &mut tell)?;
        row_counts::verify_messages(connection, &mut tell)?;
        marks::verify(connection, &mut tell)?;
    }
    let sql = format!("SELECT {INSTANCE} FROM instances WHERE key > ?1 ORDER BY key LIMIT ?2");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![after.map_or(i64::MIN, |key| key.0), PART_LEN])?;
    let mut last = None;
    while let Some(row) = rows.next()? {
        let key = row.get(0)?;
        last = Some(InstanceKey(key));
        match rows::instance(row) {
            Err(error) if is_conversion(&error) => tell(problem(row, key, cause(&error))),
            Err(error) => return Err(error),
            Ok(instance) if instance.head.status.is_over() => {}
            Ok(instance) => {
                row_counts::verify_instance(connection, key, instance.new.id.to_string(), &mut tell)?;
            }
        }
    }
    part.last = last;
    Ok(part)
}

fn problem(row: &Row<'_>, key: i64, message: String) -> ChainProblem {
    let id = row.get(1).unwrap_or_else(|_| format!("#{key}"));
    ChainProblem { chain: ChainKind::Journal, instance: Some(id), step: None, message }
}
