//! Verifies every journal against its chain, for `doctor`: each record follows the one before, each snapshot is based
//! on the record it names. Damage of one instance is reported and the others are still checked.

use rusqlite::{Connection, Result, Row, params};
use rustc_hash::FxHashMap;

use super::fault::cause;
use super::journal::{LinkedRecord, indexed_through};
use super::rows::{self, RECORD, int, uint};
use super::snapshots::SnapshotRow;
use crate::chain::{self, ChainLink};
use crate::report::{ChainKind, ChainProblem};
use crate::{InstanceKey, RecordKind};

/// Passes each problem of the journal to the callback, at most one per instance.
pub(super) fn verify(connection: &Connection, tell: &mut dyn FnMut(ChainProblem)) -> Result<()> {
    let mark = indexed_through(connection)?;
    let mut unindexed = unindexed(connection, mark)?;
    let sql = "SELECT key, CAST(id AS BLOB) FROM instances ORDER BY key";
    let mut statement = connection.prepare(sql)?;
    let name =
        |row: &Row<'_>| Ok((row.get(0)?, String::from_utf8_lossy(row.get_ref(1)?.as_blob()?).into_owned()));
    let instances: Vec<(i64, String)> = statement.query_map([], name)?.collect::<Result<_>>()?;
    for (key, id) in instances {
        let later = unindexed.remove(&key).unwrap_or_default();
        match look(connection, InstanceKey(key), mark, later) {
            Ok(None) => {}
            Ok(Some(Damage { step, what })) => tell(problem(id, Some(uint(step)), what)),
            Err(error) => tell(problem(id, None, error.to_string())),
        }
    }
    Ok(())
}

fn problem(id: String, step: Option<u64>, message: String) -> ChainProblem {
    ChainProblem { chain: ChainKind::Journal, instance: Some(id), step, message }
}

/// A problem, and its step.
struct Damage {
    step: i64,
    what: String,
}

fn damage(step: i64, what: impl Into<String>) -> Damage {
    Damage { step, what: what.into() }
}

/// Checks one instance up to its first problem.
fn look(
    connection: &Connection,
    key: InstanceKey,
    mark: i64,
    later: Vec<CheckedEntry>,
) -> Result<Option<Damage>> {
    let sql = format!("SELECT {} FROM instances WHERE key = ?1", rows::INSTANCE);
    let instance = connection.prepare_cached(&sql)?.query_row([key.0], |row| Ok(rows::instance(row)))?;
    if let Err(error) = instance {
        return Ok(Some(damage(0, format!("unreadable row: {}", cause(&error)))));
    }
    let mut walk = JournalWalk::default();
    let sql = format!(
        "SELECT {RECORD}, i.step FROM journal_index i LEFT JOIN journal j ON j.seq = i.seq
         WHERE i.instance = ?1 AND i.seq <= ?2 ORDER BY i.seq"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![key.0, mark])?;
    while let Some(row) = rows.next()? {
        let step = row.get(9)?;
        let entry = match row.get::<_, Option<i64>>(0)? {
            None => Err(damage(step, "the record is missing")),
            Some(_) => entry(row, step).and_then(|linked| match linked.record.instance == key {
                true => Ok(linked),
                false => Err(damage(step, "the record belongs to another instance")),
            }),
        };
        if let Some(damage) = walk.take(entry) {
            return Ok(Some(damage));
        }
    }
    for entry in later {
        if let Some(damage) = walk.take(entry) {
            return Ok(Some(damage));
        }
    }
    if let Some(step) = walk.unlinked {
        return Ok(Some(damage(step, "the record has no link")));
    }
    if let Some((step, link)) = end(connection, key)?
        && !walk.links.iter().any(|(_, known)| *known == Some(link))
    {
        return Ok(Some(damage(step, "the last records are missing")));
    }
    for (step, saved) in SnapshotRow::all(connection, key)? {
        match saved {
            Err(error) => return Ok(Some(damage(step, format!("unreadable snapshot: {error}")))),
            Ok(saved) if !saved.is_sound(key) => {
                return Ok(Some(damage(step, "the snapshot was modified")));
            }
            Ok(saved) if !walk.carries(&saved) => {
                return Ok(Some(damage(step, "the snapshot does not match the journal")));
            }
            Ok(_) => {}
        }
    }
    Ok(None)
}

/// Returns the end of the journal's chain as the row of the instance has it. The chain may be longer.
fn end(connection: &Connection, key: InstanceKey) -> Result<Option<(i64, ChainLink)>> {
    let sql = "SELECT journal_step, journal_chain FROM instances WHERE key = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let end = statement.query_row([key.0], |row| Ok((row.get(0)?, rows::link(row, 1)?)))?;
    Ok(end.1.filter(|link| *link != chain::START).map(|link| (end.0, link)))
}

type CheckedEntry = std::result::Result<LinkedRecord, Damage>;

fn entry(row: &Row<'_>, step: i64) -> CheckedEntry {
    LinkedRecord::read(row).map_err(|error| damage(step, format!("unreadable record: {error}")))
}

/// Returns the unindexed records, by instance.
fn unindexed(connection: &Connection, mark: i64) -> Result<FxHashMap<i64, Vec<CheckedEntry>>> {
    let sql = format!("SELECT {RECORD} FROM journal j WHERE seq > ?1 ORDER BY seq");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([mark])?;
    let mut found: FxHashMap<i64, Vec<CheckedEntry>> = FxHashMap::default();
    while let Some(row) = rows.next()? {
        found.entry(row.get(1)?).or_default().push(entry(row, row.get(2)?));
    }
    Ok(found)
}

/// A pass over the journal of one instance.
#[derive(Default)]
struct JournalWalk {
    link: ChainLink,
    /// The last successful step.
    last: Option<u64>,
    /// The first step without a link. Where an earlier format left the steps in disorder, that is reported instead.
    unlinked: Option<i64>,
    /// Steps with the link of the record that a snapshot of them is based on.
    links: Vec<(i64, Option<ChainLink>)>,
}

impl JournalWalk {
    fn take(&mut self, entry: CheckedEntry) -> Option<Damage> {
        let linked = match entry {
            Ok(linked) => linked,
            Err(damage) => return Some(damage),
        };
        let record = &linked.record;
        let step = int(record.step);
        if !linked.follows(Some(&self.link)) {
            return Some(damage(step, "the record or the one before it was modified"));
        }
        if let Some(last) = self.last.filter(|last| record.step != last + 1) {
            return Some(damage(step, format!("recorded after step {last} by an earlier release")));
        }
        if record.kind != RecordKind::Failed {
            self.last = Some(record.step);
        }
        if linked.link.is_none() {
            self.unlinked.get_or_insert(step);
        }
        self.link = linked.link.unwrap_or(chain::START);
        self.links.push((step, linked.link));
        None
    }

    /// Returns true if a snapshot names the last record up to its step.
    fn carries(&self, saved: &SnapshotRow) -> bool {
        let under = self.links.iter().rev().find(|(step, _)| *step <= saved.step);
        match under.and_then(|(_, link)| *link) {
            Some(link) => saved.link == Some(link),
            None => saved.link.is_none_or(|link| link == chain::START),
        }
    }
}
