//! Numbers of rows beside the journal: a deleted one shows as a difference. The last record of an instance has those of
//! its open effects and deliveries, so that they cost no page of their own; `marks` has that of the messages in flight.

use std::ops::AddAssign;

use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use super::fault::StoreReadError;
use super::journal::indexed_through;
use crate::InstanceKey;
use crate::report::{ChainKind, ChainProblem};

/// The rows of one instance, or a change of their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RowCounts {
    pub(super) effects: i64,
    pub(super) deliveries: i64,
}

impl AddAssign for RowCounts {
    fn add_assign(&mut self, change: RowCounts) {
        self.effects += change.effects;
        self.deliveries += change.deliveries;
    }
}

impl RowCounts {
    /// Reads the columns of a record; `None` if it is not the last of its commit, or of an earlier format.
    pub(super) fn read(row: &Row<'_>, effects: usize, deliveries: usize) -> Result<Option<RowCounts>> {
        let (effects, deliveries): (Option<i64>, Option<i64>) = (row.get(effects)?, row.get(deliveries)?);
        Ok(effects.zip(deliveries).map(|(effects, deliveries)| RowCounts { effects, deliveries }))
    }

    /// Counts the rows of an instance.
    pub(super) fn of(connection: &Connection, key: i64) -> Result<RowCounts> {
        let sql = "SELECT (SELECT count(*) FROM effects WHERE instance = ?1),
                          (SELECT count(*) FROM deliveries WHERE instance = ?1)";
        connection
            .prepare_cached(sql)?
            .query_row([key], |row| Ok(RowCounts { effects: row.get(0)?, deliveries: row.get(1)? }))
    }

    /// Returns the numbers in the last record of an instance with its step; `None` if it has no record.
    fn recorded(connection: &Connection, key: i64) -> Result<Option<(i64, RowCounts)>> {
        let mark = indexed_through(connection)?;
        let unindexed = "SELECT step, open_effects, deliveries FROM journal
                         WHERE seq > ?2 AND instance = ?1 ORDER BY seq DESC LIMIT 1";
        let indexed = "SELECT j.step, j.open_effects, j.deliveries FROM journal_index i
                       JOIN journal j ON j.seq = i.seq
                       WHERE i.instance = ?1 AND i.seq <= ?2 ORDER BY i.seq DESC LIMIT 1";
        for sql in [unindexed, indexed] {
            let mut statement = connection.prepare_cached(sql)?;
            let read = |row: &Row<'_>| Ok((row.get(0)?, RowCounts::read(row, 1, 2)?));
            if let Some((step, counts)) = statement.query_row(params![key, mark], read).optional()? {
                return Ok(counts.map(|counts| (step, counts)));
            }
        }
        Ok(None)
    }
}

/// A difference between the recorded and the existing rows, with the step of the record.
struct Difference {
    step: i64,
    what: String,
}

fn difference(connection: &Connection, key: i64) -> Result<Option<Difference>> {
    let Some((step, recorded)) = RowCounts::recorded(connection, key)? else { return Ok(None) };
    let found = RowCounts::of(connection, key)?;
    let what = if recorded.effects != found.effects {
        missing("open effects", found.effects, recorded.effects)
    } else if recorded.deliveries != found.deliveries {
        missing("deliveries", found.deliveries, recorded.deliveries)
    } else {
        return Ok(None);
    };
    Ok(Some(Difference { step, what }))
}

fn missing(rows: &str, found: i64, recorded: i64) -> String {
    match found < recorded {
        true => format!("{} of {recorded} {rows} are missing", recorded - found),
        false => format!("there are {found} {rows} instead of {recorded}"),
    }
}

/// Fails if rows of an instance are missing; the error names it and its last step.
pub(super) fn check(connection: &Connection, key: InstanceKey) -> std::result::Result<(), StoreReadError> {
    match difference(connection, key.0)? {
        None => Ok(()),
        Some(Difference { step, what }) => Err(StoreReadError::damaged(connection, key, step, &what)),
    }
}

/// Passes the missing rows of each instance, and missing messages, to the callback.
pub(super) fn verify(connection: &Connection, tell: &mut dyn FnMut(ChainProblem)) -> Result<()> {
    let mut statement = connection.prepare("SELECT key, CAST(id AS TEXT) FROM instances ORDER BY key")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        verify_instance(connection, row.get(0)?, row.get(1)?, tell)?;
    }
    verify_messages(connection, tell)
}

/// Passes missing rows of one instance to the callback.
pub(super) fn verify_instance(
    connection: &Connection,
    key: i64,
    id: String,
    tell: &mut dyn FnMut(ChainProblem),
) -> Result<()> {
    if let Some(Difference { step, what }) = difference(connection, key)? {
        let (instance, step) = (Some(id), u64::try_from(step).ok());
        tell(ChainProblem { chain: ChainKind::Journal, instance, step, message: what });
    }
    Ok(())
}

/// Passes a difference between the recorded and the existing messages in flight to the callback.
pub(super) fn verify_messages(connection: &Connection, tell: &mut dyn FnMut(ChainProblem)) -> Result<()> {
    let sql = "SELECT (SELECT count(*) FROM inbound), in_flight FROM marks";
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
    // A missing row of `marks` is reported by its own check.
    let Some((found, recorded)) = connection.query_row(sql, [], read).optional()? else { return Ok(()) };
    if found != recorded {
        let message = missing("messages in flight", found, recorded);
        tell(ChainProblem { chain: ChainKind::Journal, instance: None, step: None, message });
    }
    Ok(())
}

/// Format 8: fills in the numbers.
pub(super) fn add(connection: &Connection) -> Result<()> {
    connection.execute_batch(
        "UPDATE journal SET open_effects = (SELECT count(*) FROM effects WHERE effects.instance = journal.instance),
                            deliveries = (SELECT count(*) FROM deliveries
                                          WHERE deliveries.instance = journal.instance)
         WHERE seq IN (SELECT max(seq) FROM journal GROUP BY instance);
         UPDATE marks SET in_flight = (SELECT count(*) FROM inbound);",
    )
}
