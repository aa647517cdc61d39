//! The indexes of the journal and of the audit, which follow behind the tables. What this host wrote is indexed from
//! memory: reading and sorting it again took a third of the time of a commit.

use std::sync::{Arc, LazyLock};

use rusqlite::{ToSql, params, params_from_iter};

use super::audits::AuditEnd;
use super::batch::{Batch, BatchFailure};
use crate::AuditLine;

/// Rows that one statement enters.
const ROWS: usize = 32;

/// A failure rolls the whole batch back in any case; otherwise each statement would copy the pages that it changes.
const RECORD: &str = "INSERT OR ROLLBACK INTO journal_index (instance, seq, step) VALUES (?, ?, ?)";
const LINE: &str = "INSERT OR ROLLBACK INTO audit_index (instance, line) VALUES (?, ?)";

static MANY_RECORDS: LazyLock<String> = LazyLock::new(|| many(RECORD, ", (?, ?, ?)"));
static MANY_LINES: LazyLock<String> = LazyLock::new(|| many(LINE, ", (?, ?)"));

fn many(one: &str, row: &str) -> String {
    format!("{one}{}", row.repeat(ROWS - 1))
}

/// The end of the journal and of the audit that no index has yet, as far as this host wrote it.
#[derive(Default)]
pub(super) struct IndexBacklog {
    /// Instance, number and step of each record.
    records: Vec<[i64; 3]>,
    /// Instance and number of each line of the audit.
    lines: Vec<(Arc<str>, i64)>,
    /// The ends of audits in records.
    ends: Vec<(i64, AuditEnd)>,
    /// The numbers of those that are committed.
    kept: [usize; 3],
    /// No earlier host left lines or ends.
    is_whole: bool,
    /// The current batch indexes all of them.
    is_indexed: bool,
}

impl IndexBacklog {
    pub(super) fn add_record(&mut self, instance: i64, seq: i64, step: i64) {
        self.records.push([instance, seq, step]);
    }

    pub(super) fn add_line(&mut self, line: &AuditLine, number: i64) {
        self.lines.push((Arc::clone(&line.instance), number));
    }

    pub(super) fn add_end(&mut self, instance: i64, end: AuditEnd) {
        self.ends.push((instance, end));
    }

    /// Keeps the changes of a committed batch.
    pub(super) fn keep(&mut self) {
        if std::mem::take(&mut self.is_indexed) {
            self.records.clear();
            self.lines.clear();
            self.ends.clear();
            self.is_whole = true;
        }
        self.kept = [self.records.len(), self.lines.len(), self.ends.len()];
    }

    /// Forgets the changes of a failed batch.
    pub(super) fn undo(&mut self) {
        let [records, lines, ends] = self.kept;
        self.records.truncate(records);
        self.lines.truncate(lines);
        self.ends.truncate(ends);
        self.is_indexed = false;
    }
}

impl Batch<'_> {
    /// Updates both indexes up to the last record and the last audit line, in their own order, so that each page is
    /// visited once. The ends of audits move from these records to the rows of their instances.
    pub(super) fn index(&mut self) -> Result<(), BatchFailure> {
        if self.backlog.is_whole {
            self.store_new_audit_ends()?;
            self.index_lines()?;
        } else {
            self.store_audit_ends()?;
            self.run(
                "INSERT OR ROLLBACK INTO audit_index (instance, line)
                 SELECT instance, line FROM audit WHERE line > (SELECT audited_through FROM marks)
                 ORDER BY instance, line",
                [],
            )?;
        }
        self.index_records()?;
        self.mark(
            "UPDATE marks SET indexed_through = ?1,
                              audited_through = (SELECT coalesce(max(line), 0) FROM audit)",
            [self.last_seq],
        )?;
        self.indexed_through = self.last_seq;
        self.backlog.is_indexed = true;
        Ok(())
    }

    fn index_records(&mut self) -> Result<(), BatchFailure> {
        let missing = self.last_seq - self.indexed_through;
        if i64::try_from(self.backlog.records.len()) != Ok(missing) {
            // An earlier host left some.
            return self.run(
                "INSERT OR ROLLBACK INTO journal_index (instance, seq, step)
                 SELECT instance, seq, step FROM journal WHERE seq > ?1 ORDER BY instance, seq",
                [self.indexed_through],
            );
        }
        let mut rows = self.backlog.records.clone();
        rows.sort_unstable();
        let (chunks, rest) = rows.as_chunks::<ROWS>();
        for rows in chunks {
            self.run(&MANY_RECORDS, params_from_iter(rows.iter().flatten()))?;
        }
        rest.iter().try_for_each(|row| self.run(RECORD, *row))
    }

    fn index_lines(&mut self) -> Result<(), BatchFailure> {
        let mut rows = self.backlog.lines.clone();
        rows.sort_unstable();
        let (chunks, rest) = rows.as_chunks::<ROWS>();
        for rows in chunks {
            let values = rows.iter().flat_map(|(instance, line)| [instance as &dyn ToSql, line]);
            self.run(&MANY_LINES, params_from_iter(values))?;
        }
        rest.iter().try_for_each(|(instance, line)| self.run(LINE, params![instance, line]))
    }

    /// Writes the last end of each audit to the row of its instance.
    fn store_new_audit_ends(&mut self) -> Result<(), BatchFailure> {
        let mut ends = self.backlog.ends.clone();
        ends.sort_by_key(|(instance, _)| *instance);
        let last = ends.chunk_by(|(one, _), (other, _)| one == other).filter_map(<[_]>::last);
        for (instance, end) in last {
            self.run(
                "UPDATE instances SET audit_lines = ?2, audit_chain = ?3 WHERE key = ?1 AND audit_lines < ?2",
                params![instance, end.lines, end.link],
            )?;
        }
        Ok(())
    }
}
