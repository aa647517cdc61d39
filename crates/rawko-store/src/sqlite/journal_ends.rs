//! The end of each instance's journal: its last step and link, cached so that a commit does not have to read them.
//! Bounded; evicted tips are read again.

use rusqlite::{Connection, Result, Row, params};

use super::recent::Recent;
use super::row_counts::RowCounts;
use super::rows::{self, uint};
use crate::chain::{self, ChainLink};
use crate::{Record, RecordKind};

/// The tips of the instances that committed last.
pub(super) type Tips = Recent<i64, Tip>;

/// The end of one instance's journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tip {
    /// The last successful step; `None` before the first.
    pub(super) step: Option<u64>,
    /// The link of the record of that step.
    pub(super) step_link: ChainLink,
    /// The link of the last record, possibly of a failed step.
    pub(super) link: ChainLink,
    /// The place of the last record in the whole journal; 0 before the first.
    pub(super) seq: i64,
    /// Other rows of the instance.
    pub(super) rows: RowCounts,
}

impl Tip {
    /// Returns the tip after one more record.
    pub(super) fn after(&self, record: &Record) -> Tip {
        let link = chain::link(&self.link, record);
        match record.kind {
            RecordKind::Failed => Tip { link, ..*self },
            RecordKind::Started
            | RecordKind::Forked
            | RecordKind::Stepped
            | RecordKind::Ignored
            | RecordKind::Migrated => Tip { step: Some(record.step), step_link: link, link, ..*self },
        }
    }

    /// Returns true if a record may follow: it is of the next step, successful or failed. The first one may have any
    /// number.
    pub(super) fn allows(&self, record: &Record) -> bool {
        self.step.is_none_or(|step| record.step.checked_sub(1) == Some(step))
    }

    /// Reads the end of an instance's journal: by the index, and in the records after `indexed_through`, up to
    /// `through`.
    pub(super) fn read(connection: &Connection, key: i64, indexed_through: i64, through: i64) -> Result<Tip> {
        let mut tip = Ends::default();
        if indexed_through < through {
            let sql = "SELECT step, kind, chain, seq, open_effects, deliveries FROM journal
                       WHERE seq > ?2 AND seq <= ?3 AND instance = ?1 ORDER BY seq DESC";
            let mut statement = connection.prepare_cached(sql)?;
            tip.take(statement.query(params![key, indexed_through, through])?)?;
        }
        if tip.step.is_none() {
            let sql = "SELECT j.step, j.kind, j.chain, j.seq, j.open_effects, j.deliveries
                       FROM journal_index i JOIN journal j ON j.seq = i.seq
                       WHERE i.instance = ?1 ORDER BY i.seq DESC";
            tip.take(connection.prepare_cached(sql)?.query([key])?)?;
        }
        let mut found = tip.found().unwrap_or_default();
        found.rows = match tip.rows {
            Some(rows) => rows,
            None => RowCounts::of(connection, key)?,
        };
        Ok(found)
    }
}

/// A tip that is assembled from records, newest first.
#[derive(Default)]
struct Ends {
    /// Of the last record, and its place.
    link: Option<(ChainLink, i64)>,
    rows: Option<RowCounts>,
    step: Option<(u64, ChainLink)>,
}

impl Ends {
    /// Reads records until one of a successful step.
    fn take(&mut self, mut rows: rusqlite::Rows<'_>) -> Result<()> {
        while self.step.is_none()
            && let Some(row) = rows.next()?
        {
            self.add(row)?;
        }
        Ok(())
    }

    fn add(&mut self, row: &Row<'_>) -> Result<()> {
        // An instance without a chain, because an earlier format left its journal inconsistent, begins a new one.
        let link = rows::link(row, 2)?.unwrap_or(chain::START);
        if self.link.is_none() {
            self.link = Some((link, row.get(3)?));
            self.rows = RowCounts::read(row, 4, 5)?;
        }
        if rows::kind(row, 1)? != RecordKind::Failed {
            self.step = Some((uint(row.get(0)?), link));
        }
        Ok(())
    }

    fn found(&self) -> Option<Tip> {
        let (link, seq) = self.link?;
        let (step, step_link) = self.step.map_or((None, chain::START), |(step, link)| (Some(step), link));
        Some(Tip { step, step_link, link, seq, rows: RowCounts::default() })
    }
}
