//! The audit and its chain: lines are appended with a link to the one before of the same instance, whose row holds the
//! end. Separate from the journal, because lines are found by the instance's name.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Result, params};
use rustc_hash::{FxHashMap, FxHashSet};

use super::batch::{Batch, Failure};
use super::rows::{self, AUDIT, uint};
use crate::chain::{self, Link};
use crate::report::{ChainKind, ChainProblem};
use crate::{AuditLine, Commit};

impl Batch<'_> {
    /// Appends the audit lines of a commit, and moves the ends of their chains.
    pub(super) fn audit(&self, commit: &Commit) -> Result<(), Failure> {
        let mut lines = commit.audit.iter().peekable();
        while let Some(first) = lines.peek().map(|line| line.instance.clone()) {
            let sql = "SELECT audit_chain FROM instances WHERE id = ?1";
            let end = self.connection.prepare_cached(sql)?.query_row([&first], |row| rows::link(row, 0));
            let mut link = end.optional()?.flatten().unwrap_or(chain::START);
            let mut count = 0_i64;
            while let Some(line) = lines.next_if(|line| line.instance == first) {
                link = chain::audit_link(&link, line);
                count += 1;
                self.append_line(line, &link)?;
            }
            self.run(
                "UPDATE instances SET audit_lines = audit_lines + ?2, audit_chain = ?3 WHERE id = ?1",
                params![first, count, link],
            )?;
        }
        Ok(())
    }

    fn append_line(&self, line: &AuditLine, link: &Link) -> Result<(), Failure> {
        self.run(
            "INSERT INTO audit (at_ms, instance, effect, service, decision, reason, provenance, chain)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                line.at_ms,
                line.instance,
                line.effect,
                line.service,
                line.decision,
                line.reason,
                line.provenance,
                link
            ],
        )
    }
}

/// The chain of one instance during a pass over the whole audit.
#[derive(Default)]
struct Walk {
    lines: i64,
    link: Link,
    /// The step of the last line.
    step: Option<u64>,
}

/// Checks the audit of all instances. Passes each problem to the callback, at most one per instance. Returns the number
/// of lines.
pub(super) fn verify(connection: &Connection, tell: &mut dyn FnMut(ChainProblem)) -> Result<u64> {
    let deleted = deleted(connection)?;
    let mut walks: FxHashMap<String, Walk> = FxHashMap::default();
    let mut damaged: FxHashSet<String> = FxHashSet::default();
    let known = instances(connection)?;
    let sql = format!("SELECT {AUDIT}, chain FROM audit ORDER BY line");
    let mut statement = connection.prepare(&sql)?;
    let mut found = statement.query([])?;
    let mut count = 0;
    while let Some(row) = found.next()? {
        count += 1;
        let (line, link) = (rows::audit(row)?, rows::link(row, 7)?);
        let id = line.instance.to_string();
        // Without a row of the instance there is no end, so its lines are chained to nothing.
        let is_known = known.contains_key(&id);
        let walk = walks.entry(id.clone()).or_default();
        let before = if is_known { walk.link } else { chain::START };
        let step = step_of(&line.effect);
        if is_known && link != Some(chain::audit_link(&before, &line)) && damaged.insert(id.clone()) {
            let what = match deleted.get(&id) {
                Some(line) => format!("line {line} of the audit was deleted"),
                None => "a line of the audit, or the one before it, was changed, moved or deleted".to_owned(),
            };
            tell(problem(&id, step, what));
        }
        walk.lines += 1;
        walk.link = link.unwrap_or(chain::START);
        walk.step = step.or(walk.step);
    }
    for (id, (lines, end)) in known {
        let walk = walks.remove(&id).unwrap_or_default();
        let is_whole = walk.lines == lines && walk.link == end.unwrap_or(chain::START);
        if !is_whole && !damaged.contains(&id) {
            let missing = lines - walk.lines;
            let what = match missing {
                1.. => format!("the last {missing} of {lines} lines of the audit are missing"),
                _ => "the end of the audit does not match the instance".to_owned(),
            };
            tell(problem(&id, walk.step, what));
        }
    }
    Ok(count)
}

fn problem(id: &str, step: Option<u64>, message: String) -> ChainProblem {
    ChainProblem { chain: ChainKind::Audit, instance: Some(id.to_owned()), step, message }
}

/// Returns the step of an idempotency key: `order-17/3/0`.
fn step_of(effect: &str) -> Option<u64> {
    effect.rsplit('/').nth(1)?.parse().ok()
}

/// Returns the number of lines and the end of the chain of every instance.
fn instances(connection: &Connection) -> Result<BTreeMap<String, (i64, Option<Link>)>> {
    let mut statement =
        connection.prepare("SELECT CAST(id AS BLOB), audit_lines, audit_chain FROM instances")?;
    let rows = statement.query_map([], |row| {
        let id = String::from_utf8_lossy(row.get_ref(0)?.as_blob()?).into_owned();
        Ok((id, (row.get(1)?, rows::link(row, 2)?)))
    })?;
    rows.collect()
}

/// Returns the first line of each instance that the index names and that is gone.
fn deleted(connection: &Connection) -> Result<FxHashMap<String, u64>> {
    let sql = "SELECT i.instance, min(i.line) FROM audit_index i LEFT JOIN audit a ON a.line = i.line
               WHERE a.line IS NULL GROUP BY i.instance";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, uint(row.get(1)?))))?;
    rows.collect()
}

/// Format 5: adds the links of all lines, and the ends to the instances.
pub(super) fn add_chains(connection: &Connection) -> Result<()> {
    let mut walks: BTreeMap<String, Walk> = BTreeMap::new();
    let sql = format!("SELECT {AUDIT}, line FROM audit ORDER BY line");
    let mut statement = connection.prepare(&sql)?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        let (line, number): (AuditLine, i64) = (rows::audit(row)?, row.get(7)?);
        let walk = walks.entry(line.instance.to_string()).or_default();
        walk.link = chain::audit_link(&walk.link, &line);
        walk.lines += 1;
        let sql = "UPDATE audit SET chain = ?2 WHERE line = ?1";
        connection.prepare_cached(sql)?.execute(params![number, walk.link])?;
    }
    for (id, walk) in walks {
        let sql = "UPDATE instances SET audit_lines = ?2, audit_chain = ?3 WHERE id = ?1";
        connection.prepare_cached(sql)?.execute(params![id, walk.lines, walk.link])?;
    }
    Ok(())
}
