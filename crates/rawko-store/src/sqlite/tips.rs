//! The end of each instance's journal: its last step and link, cached so that a commit does not have to read them.
//! Bounded; evicted tips are read again.

use rusqlite::{Connection, Result, Row, params};

use super::recent::Recent;
use super::rows::{self, uint};
use crate::chain::{self, Link};
use crate::{Record, RecordKind};

/// The tips of the instances that committed last.
pub(super) type Tips = Recent<i64, Tip>;

/// The end of one instance's journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tip {
    /// The last successful step; `None` before the first.
    pub(super) step: Option<u64>,
    /// The link of the record of that step.
    pub(super) step_link: Link,
    /// The link of the last record, possibly of a failed step.
    pub(super) link: Link,
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
            | RecordKind::Migrated => Tip { step: Some(record.step), step_link: link, link },
        }
    }

    /// Returns true if a record may follow: it is of the next step, successful or failed. The first one may have any
    /// number.
    pub(super) fn allows(&self, record: &Record) -> bool {
        self.step.is_none_or(|step| record.step.checked_sub(1) == Some(step))
    }

    /// Reads the end of an instance's journal: by the index, and in the records after `indexed_through`, up to
    /// `through`.
    pub(super) fn read(
        connection: &Connection,
        key: i64,
        indexed_through: i64,
        through: i64,
    ) -> Result<Option<Tip>> {
        let mut tip = Ends::default();
        if indexed_through < through {
            let sql = "SELECT step, kind, chain FROM journal
                       WHERE seq > ?2 AND seq <= ?3 AND instance = ?1 ORDER BY seq DESC";
            let mut statement = connection.prepare_cached(sql)?;
            tip.take(statement.query(params![key, indexed_through, through])?)?;
        }
        if tip.step.is_none() {
            let sql = "SELECT j.step, j.kind, j.chain FROM journal_index i JOIN journal j ON j.seq = i.seq
                       WHERE i.instance = ?1 ORDER BY i.seq DESC";
            tip.take(connection.prepare_cached(sql)?.query([key])?)?;
        }
        Ok(tip.found())
    }
}

/// A tip that is assembled from records, newest first.
#[derive(Default)]
struct Ends {
    link: Option<Link>,
    step: Option<(u64, Link)>,
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
        self.link.get_or_insert(link);
        if rows::kind(row, 1)? != RecordKind::Failed {
            self.step = Some((uint(row.get(0)?), link));
        }
        Ok(())
    }

    fn found(self) -> Option<Tip> {
        let link = self.link?;
        let (step, step_link) = self.step.map_or((None, chain::START), |(step, link)| (Some(step), link));
        Some(Tip { step, step_link, link })
    }
}
