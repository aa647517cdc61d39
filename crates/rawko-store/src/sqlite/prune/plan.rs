//! Selects the instances to remove: roots that ended, whose descendants ended too and have no open calls.

use rawko_core::Status;
use rusqlite::{Connection, Result, Row, params};
use rustc_hash::FxHashSet;

use super::super::rows::{self, INSTANCE, uint};
use super::blobs;
use super::{Prunable, Retention};
use crate::{Head, InstanceRow, Outcome};

/// SQL for the keys of an instance and its descendants.
pub(super) const FAMILY: &str = "WITH RECURSIVE family (key, id) AS (
    SELECT key, id FROM instances WHERE key = ?1
    UNION SELECT child.key, child.id FROM instances child JOIN family ON child.parent_id = family.id)";

/// The SQL condition for an ended instance.
pub(super) const ENDED: &str = "(status IN ('done', 'cancelled') OR outcome IS NOT NULL)";

pub(super) fn plan(connection: &Connection, retention: &Retention, bytes: u64) -> Result<Vec<Prunable>> {
    let sql = format!("SELECT {INSTANCE} FROM instances WHERE parent_id IS NULL AND {ENDED} ORDER BY key");
    let roots: Vec<InstanceRow> =
        connection.prepare(&sql)?.query_map([], rows::instance)?.collect::<Result<_>>()?;
    let mut ended = Vec::new();
    for row in roots {
        let outcome = outcome(&row.head);
        if !retention.outcomes.is_empty() && !retention.outcomes.contains(&outcome)
            || is_busy(connection, &row)?
        {
            continue;
        }
        ended.push((ended_ms(connection, &row)?, outcome, row));
    }
    ended.sort_by_key(|(ended_ms, _, row)| (*ended_ms, row.key));
    let mut shared = FxHashSet::default();
    let mut found = Vec::new();
    let mut left = bytes;
    for (ended_ms, outcome, row) in ended {
        let is_too_large = retention.size_max_bytes.is_some_and(|max| left > max);
        let is_old = match retention.ended_before_ms {
            Some(before) => ended_ms < before,
            // Without a limit on age or size, every instance with the outcome is removed.
            None => retention.size_max_bytes.is_none(),
        };
        if !is_old && !is_too_large {
            continue;
        }
        let (instances, records, bytes) = measure(connection, &row, &mut shared)?;
        left = left.saturating_sub(bytes);
        let id = row.new.id.to_string();
        found.push(Prunable { key: row.key, id, outcome, ended_ms, instances, records, bytes });
    }
    Ok(found)
}

/// Returns the outcome of an instance. Earlier releases did not store it separately from the status.
fn outcome(head: &Head) -> Outcome {
    head.outcome.unwrap_or(match head.status {
        Status::Done => Outcome::Succeeded,
        Status::Cancelled => Outcome::Cancelled,
        Status::Active | Status::Error => Outcome::Failed,
    })
}

/// Returns true if a descendant is running, or any of them has an open call.
fn is_busy(connection: &Connection, root: &InstanceRow) -> Result<bool> {
    let sql = format!(
        "{FAMILY} SELECT EXISTS (SELECT 1 FROM instances WHERE key IN (SELECT key FROM family) AND status = 'active' AND NOT {ENDED})
              OR EXISTS (SELECT 1 FROM effects WHERE instance IN (SELECT key FROM family) AND kind <> 'unknown')"
    );
    connection.prepare_cached(&sql)?.query_row([root.key.0], |row| row.get(0))
}

fn ended_ms(connection: &Connection, root: &InstanceRow) -> Result<i64> {
    let sql = "SELECT max(at_ms) FROM (
                   SELECT j.at_ms FROM journal_index i JOIN journal j ON j.seq = i.seq
                   WHERE i.instance = ?1 AND i.seq = (SELECT max(seq) FROM journal_index WHERE instance = ?1)
                   UNION ALL
                   SELECT at_ms FROM journal WHERE seq > (SELECT indexed_through FROM marks) AND instance = ?1)";
    let last = |row: &Row<'_>| row.get::<_, Option<i64>>(0);
    let last = connection.prepare_cached(sql)?.query_row([root.key.0], last)?;
    Ok(last.unwrap_or(root.new.created_ms))
}

/// Returns instances, records and bytes of a family, without blobs that were counted before.
fn measure(
    connection: &Connection,
    root: &InstanceRow,
    shared: &mut FxHashSet<[u8; 16]>,
) -> Result<(u64, u64, u64)> {
    let sql = format!("{FAMILY} SELECT key, id FROM family");
    let members: Vec<(i64, String)> = connection
        .prepare_cached(&sql)?
        .query_map([root.key.0], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_>>()?;
    let (mut records, mut bytes) = (0, 0);
    for (key, id) in &members {
        let sql = "SELECT count(*), coalesce(sum(length(event) + length(delta) + length(effects) + 60), 0)
                   FROM journal WHERE seq IN (SELECT seq FROM journal_index WHERE instance = ?1
                       UNION ALL SELECT seq FROM journal
                       WHERE seq > (SELECT indexed_through FROM marks) AND instance = ?1)";
        let counted = |row: &Row<'_>| Ok((uint(row.get(0)?), uint(row.get(1)?)));
        let (count, len) = connection.prepare_cached(sql)?.query_row([key], counted)?;
        records += count;
        bytes += len;
        let sql = "SELECT (SELECT coalesce(sum(length(body) + 60), 0) FROM snapshots WHERE instance = ?1)
                        + (SELECT coalesce(sum(length(provenance) + length(reason) + 120), 0) FROM audit
                           WHERE line IN (SELECT line FROM audit_index WHERE instance = ?2)) + 300";
        bytes += uint(connection.prepare_cached(sql)?.query_row(params![key, id], |row| row.get(0))?);
        for blob in blobs::of_instance(connection, *key)? {
            if shared.insert(blob) {
                let sql = "SELECT coalesce(max(length(body) + 40), 0) FROM blobs WHERE hash = ?1";
                bytes += uint(connection.prepare_cached(sql)?.query_row([blob], |row| row.get(0))?);
            }
        }
    }
    Ok((members.len() as u64, records, bytes))
}
