//! The audit and its chain: lines are appended with a link to the one before of the same instance. The end is in the
//! last record that came with a line, and once that is indexed in the row of the instance. Separate from the journal,
//! because lines are found by the instance's name.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Result, Row, params};
use rustc_hash::{FxHashMap, FxHashSet};

use super::batch::{Batch, BatchFailure};
use super::fault::StoreReadError;
use super::recent::Recent;
use super::rows::{self, AUDIT, int, uint};
use crate::chain::{self, ChainLink};
use crate::report::{ChainKind, ChainProblem};
use crate::{AuditLine, Commit};

/// The end of an instance's audit.
#[derive(Clone, Copy, Debug)]
pub(super) struct AuditEnd {
    /// The instance's key; `None` if there is no such instance.
    key: Option<i64>,
    pub(super) lines: i64,
    pub(super) link: ChainLink,
}

/// The ends of the audits that were written last, by the instance's id.
pub(super) type AuditEnds = Recent<Arc<str>, AuditEnd>;

impl Batch<'_> {
    /// Links the audit lines of a commit, each to the one before of its instance. Returns the links, and the end for the
    /// commit's last record; all other ends are written here.
    pub(super) fn link_lines(
        &mut self,
        commit: &Commit,
    ) -> Result<(Vec<ChainLink>, Option<AuditEnd>), BatchFailure> {
        let mut links = Vec::with_capacity(commit.audit.len());
        let mut own = None;
        let mut lines = commit.audit.iter().peekable();
        while let Some(first) = lines.peek().map(|line| &line.instance) {
            let mut end = self.audit_end(first)?;
            while let Some(line) = lines.next_if(|line| line.instance == *first) {
                end.link = chain::audit_link(&end.link, line);
                end.lines += 1;
                links.push(end.link);
            }
            if end.key == Some(commit.instance.0) && !commit.records.is_empty() {
                own = Some(end);
                self.backlog.add_end(commit.instance.0, end);
            } else if let Some(key) = end.key {
                self.run(
                    "UPDATE instances SET audit_lines = ?2, audit_chain = ?3 WHERE key = ?1",
                    params![key, end.lines, end.link],
                )?;
            }
            // The lines of an unknown instance are chained to nothing.
            if end.key.is_some() {
                self.audit_ends.set(Arc::clone(first), end);
            }
        }
        Ok((links, own))
    }

    fn audit_end(&self, id: &Arc<str>) -> Result<AuditEnd, BatchFailure> {
        if let Some(end) = self.audit_ends.get(id) {
            return Ok(end);
        }
        let sql = "SELECT key, audit_lines, audit_chain FROM instances WHERE id = ?1";
        let read = |row: &Row<'_>| {
            let link = rows::link(row, 2)?.unwrap_or(chain::START);
            Ok(AuditEnd { key: Some(row.get(0)?), lines: row.get(1)?, link })
        };
        let Some(mut end) = self.connection.prepare_cached(sql)?.query_row([id], read).optional()? else {
            return Ok(AuditEnd { key: None, lines: 0, link: chain::START });
        };
        if self.indexed_through < self.inherited_through {
            let sql = "SELECT audit_lines, audit_chain FROM journal
                       WHERE seq > ?2 AND seq <= ?3 AND instance = ?1 AND audit_lines > ?4
                       ORDER BY seq DESC LIMIT 1";
            let range = params![end.key, self.indexed_through, self.inherited_through, end.lines];
            let later = |row: &Row<'_>| Ok((row.get(0)?, rows::link(row, 1)?.unwrap_or(chain::START)));
            let later = self.connection.prepare_cached(sql)?.query_row(range, later).optional()?;
            (end.lines, end.link) = later.unwrap_or((end.lines, end.link));
        }
        Ok(end)
    }

    pub(super) fn append_lines(
        &mut self,
        lines: &[AuditLine],
        links: &[ChainLink],
    ) -> Result<(), BatchFailure> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut append = self.connection.prepare_cached(
            "INSERT INTO audit (at_ms, instance, effect, service, decision, reason, provenance, chain)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        for (line, link) in lines.iter().zip(links) {
            append.execute(params![
                line.at_ms,
                line.instance,
                line.effect,
                line.service,
                line.decision,
                line.reason,
                line.provenance,
                link
            ])?;
            self.backlog.add_line(line, self.connection.last_insert_rowid());
        }
        Ok(())
    }

    /// Writes the ends of audits that unindexed records hold to the rows of their instances.
    pub(super) fn store_audit_ends(&self) -> Result<(), BatchFailure> {
        self.run(
            "UPDATE instances SET audit_lines = ends.audit_lines, audit_chain = ends.audit_chain
             FROM (SELECT instance, audit_chain, max(audit_lines) AS audit_lines FROM journal
                   WHERE seq > ?1 AND audit_lines IS NOT NULL GROUP BY instance) AS ends
             WHERE instances.key = ends.instance AND instances.audit_lines < ends.audit_lines",
            [self.indexed_through],
        )
    }
}

/// Returns the last lines of one instance or of all, oldest first. All lines of an instance are checked.
pub(super) fn lines(
    connection: &Connection,
    instance: Option<&str>,
    limit: usize,
) -> std::result::Result<Vec<AuditLine>, StoreReadError> {
    let most = int(limit as u64);
    let Some(id) = instance else {
        let sql = format!("SELECT {AUDIT} FROM audit ORDER BY line DESC LIMIT ?1");
        let mut lines: Vec<AuditLine> =
            connection.prepare_cached(&sql)?.query_map([most], rows::audit)?.collect::<Result<_>>()?;
        lines.reverse();
        return Ok(lines);
    };
    // The indexed lines, and the few that are not indexed yet.
    let sql = format!(
        "SELECT {AUDIT}, chain FROM audit WHERE line IN (
             SELECT line FROM audit_index WHERE instance = ?1
             UNION ALL
             SELECT line FROM audit WHERE line > (SELECT audited_through FROM marks) AND instance = ?1)
         ORDER BY line DESC LIMIT ?2"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let read = |row: &Row<'_>| Ok((rows::audit(row)?, rows::link(row, 7)?));
    let mut found: Vec<(AuditLine, Option<ChainLink>)> =
        statement.query_map(params![id, most], read)?.collect::<Result<_>>()?;
    found.reverse();
    if limit == usize::MAX {
        check(connection, id, &found)?;
    }
    Ok(found.into_iter().map(|(line, _)| line).collect())
}

/// Fails unless these lines are all that an instance wrote.
fn check(
    connection: &Connection,
    id: &str,
    lines: &[(AuditLine, Option<ChainLink>)],
) -> std::result::Result<(), StoreReadError> {
    let Some(end) = end_of(connection, id)? else { return Ok(()) };
    let mut walk = AuditWalk::default();
    for (line, link) in lines {
        let next = chain::audit_link(&walk.link, line);
        walk.step = step_of(&line.effect).or(walk.step);
        if *link != Some(next) {
            let step = walk.step.unwrap_or(0);
            let what = "a line of the audit, or the one before it, was changed, moved or deleted";
            return Err(StoreReadError::Damaged(format!("instance `{id}`, step {step}: {what}")));
        }
        walk = AuditWalk { lines: walk.lines + 1, link: next, ..walk };
    }
    match (walk.lines, walk.link) == (end.lines, end.link) {
        true => Ok(()),
        false => Err(StoreReadError::Damaged(format!(
            "instance `{id}`, step {}: {} of {} lines of the audit are there",
            walk.step.unwrap_or(0),
            walk.lines,
            end.lines
        ))),
    }
}

/// The end of an instance's audit in its row, or in a record that is not indexed yet.
fn end_of(connection: &Connection, id: &str) -> Result<Option<AuditEnd>> {
    let sql = "SELECT key, audit_lines, audit_chain FROM instances WHERE id = ?1";
    let read = |row: &Row<'_>| {
        let link = rows::link(row, 2)?.unwrap_or(chain::START);
        Ok(AuditEnd { key: Some(row.get(0)?), lines: row.get(1)?, link })
    };
    let Some(end) = connection.prepare_cached(sql)?.query_row([id], read).optional()? else {
        return Ok(None);
    };
    let sql = "SELECT instance, audit_lines, audit_chain FROM journal
               WHERE seq > (SELECT indexed_through FROM marks) AND instance = ?1 AND audit_lines > ?2
               ORDER BY seq DESC LIMIT 1";
    let later = connection.prepare_cached(sql)?.query_row(params![end.key, end.lines], read).optional()?;
    Ok(Some(later.unwrap_or(end)))
}

/// The chain of one instance during a pass over the whole audit.
#[derive(Default)]
struct AuditWalk {
    lines: i64,
    link: ChainLink,
    /// The step of the last line.
    step: Option<u64>,
}

/// Checks the audit of all instances. Passes each problem to the callback, at most one per instance. Returns the number
/// of lines.
pub(super) fn verify(connection: &Connection, tell: &mut dyn FnMut(ChainProblem)) -> Result<u64> {
    let deleted = deleted(connection)?;
    let mut walks: FxHashMap<String, AuditWalk> = FxHashMap::default();
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
fn instances(connection: &Connection) -> Result<BTreeMap<String, (i64, Option<ChainLink>)>> {
    let read = |row: &Row<'_>| {
        let id = String::from_utf8_lossy(row.get_ref(0)?.as_blob()?).into_owned();
        Ok((id, (row.get::<_, i64>(1)?, rows::link(row, 2)?)))
    };
    let mut statement =
        connection.prepare("SELECT CAST(id AS BLOB), audit_lines, audit_chain FROM instances")?;
    let mut ends = statement.query_map([], read)?.collect::<Result<BTreeMap<_, _>>>()?;
    let mut statement = connection.prepare(
        "SELECT CAST(i.id AS BLOB), j.audit_lines, j.audit_chain FROM journal j JOIN instances i ON i.key = j.instance
         WHERE j.seq > (SELECT indexed_through FROM marks) AND j.audit_lines IS NOT NULL ORDER BY j.seq",
    )?;
    for later in statement.query_map([], read)? {
        let (id, later) = later?;
        let end = ends.entry(id).or_insert(later);
        if end.0 < later.0 {
            *end = later;
        }
    }
    Ok(ends)
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
    let mut walks: BTreeMap<String, AuditWalk> = BTreeMap::new();
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
