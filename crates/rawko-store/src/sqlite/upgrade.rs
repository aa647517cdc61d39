//! The parts of a migration that a script cannot do: hashes over existing rows.

use std::collections::BTreeMap;

use rusqlite::{Connection, Result, params};

use super::journal::LinkedRecord;
use super::rows::{self, RECORD, int};
use super::{audits, marks, row_counts, seals, snapshots};
use crate::RecordKind;
use crate::chain::{self, ChainLink};

/// Format 4: adds the links of all records, and the links and hashes of all snapshots.
pub(super) fn add_chains(connection: &Connection) -> Result<()> {
    connection.execute_batch(
        "INSERT OR IGNORE INTO journal_index (instance, seq, step)
             SELECT instance, seq, step FROM journal WHERE seq > (SELECT indexed_through FROM marks);
         UPDATE marks SET indexed_through = (SELECT coalesce(max(seq), 0) FROM journal);",
    )?;
    let sql = "SELECT instance FROM journal_index UNION SELECT instance FROM snapshots ORDER BY 1";
    let keys: Vec<i64> = connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect::<Result<_>>()?;
    for key in keys {
        let links = links(connection, key)?;
        for (seq, _, link) in &links {
            connection
                .prepare_cached("UPDATE journal SET chain = ?2 WHERE seq = ?1")?
                .execute(params![seq, link])?;
        }
        hash_snapshots(connection, key, &links)?;
    }
    Ok(())
}

/// Format 5: adds the chain of the audit, the ends of both chains, and the number of records that are gone.
pub(super) fn add_ends(connection: &Connection) -> Result<()> {
    audits::add_chains(connection)?;
    let mut statement = connection.prepare("SELECT instance, step, kind, chain FROM journal ORDER BY seq")?;
    let mut rows = statement.query([])?;
    let mut ends: BTreeMap<i64, (i64, ChainLink)> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let end = ends.entry(row.get(0)?).or_default();
        if rows::kind(row, 2)? != RecordKind::Failed {
            end.0 = row.get(1)?;
        }
        end.1 = rows::link(row, 3)?.unwrap_or(chain::START);
    }
    for (key, (step, link)) in ends {
        let sql = "UPDATE instances SET journal_step = ?2, journal_chain = ?3 WHERE key = ?1";
        connection.prepare_cached(sql)?.execute(params![key, step, link])?;
    }
    connection.execute_batch(
        "UPDATE marks SET pruned_records =
             max(pruned_seq, (SELECT coalesce(max(seq), 0) FROM journal)) - (SELECT count(*) FROM journal)",
    )
}

/// Format 8: adds the numbers of rows, and the hashes of what changes in the rows of instances, of messages and of `marks`.
pub(super) fn add_counts(connection: &Connection) -> Result<()> {
    row_counts::add(connection)?;
    seals::add_heads(connection)?;
    marks::renew(connection)
}

/// Returns `(seq, step, link)` of an instance's records. Empty if a step is missing or present twice: earlier releases
/// could record a step twice, and the records on top of a snapshot would then not be one chain.
fn links(connection: &Connection, key: i64) -> Result<Vec<(i64, i64, ChainLink)>> {
    let sql = format!(
        "SELECT {RECORD} FROM journal_index i JOIN journal j ON j.seq = i.seq
         WHERE i.instance = ?1 ORDER BY i.seq"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([key])?;
    let mut links = Vec::new();
    let (mut previous, mut last) = (chain::START, None);
    while let Some(row) = rows.next()? {
        let record = LinkedRecord::read(row)?.record;
        if last.is_some_and(|last: u64| record.step != last + 1) {
            return Ok(Vec::new());
        }
        if record.kind != RecordKind::Failed {
            last = Some(record.step);
        }
        previous = chain::link(&previous, &record);
        links.push((int(record.seq), int(record.step), previous));
    }
    Ok(links)
}

fn hash_snapshots(connection: &Connection, key: i64, links: &[(i64, i64, ChainLink)]) -> Result<()> {
    let sql = "SELECT rowid, step, after_seq, body FROM snapshots WHERE instance = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([key], |row| {
        let (rowid, step, after_seq): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let under = links.iter().rev().find(|(_, of, _)| *of <= step);
        let link = under.map(|(_, _, link)| *link);
        Ok((rowid, link, snapshots::hash(key, step, after_seq, link.as_ref(), &row.get::<_, String>(3)?)))
    })?;
    for (rowid, link, hash) in rows.collect::<Result<Vec<_>>>()? {
        let link = link.as_ref().map_or(&[][..], |link| &link[..]);
        connection
            .prepare_cached("UPDATE snapshots SET chain = ?2, hash = ?3 WHERE rowid = ?1")?
            .execute(params![rowid, link, hash])?;
    }
    Ok(())
}
