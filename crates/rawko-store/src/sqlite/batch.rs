//! One transaction: applies commits to the tables and rejects invalid ones. Separate from the connection and its
//! caches.

use rusqlite::{CachedStatement, Connection, OptionalExtension, named_params, params};
use rustc_hash::FxHashSet;

use super::audits::{AuditEnd, AuditEnds};
use super::indexing::IndexBacklog;
use super::journal_ends::{Tip, Tips};
use super::owner::Owner;
use super::published::Published;
use super::row_counts::RowCounts;
use super::rows::{int, kind_number};
use super::{journal, seals, snapshots};
use crate::chain::{self, ChainLink};
use crate::{Commit, Head, NewInstance, Outcome, Record, RecordKind, SavedSnapshot};

/// Maximum number of unindexed records. Large enough that one page of the index serves many records, small enough that
/// reading past the index is cheap.
const UNINDEXED_MAX: i64 = 2_048;

/// The reason that a batch failed.
pub(super) enum BatchFailure {
    Sqlite(rusqlite::Error),
    Refused(String),
    /// Another handle owns the file.
    Fenced,
}

impl From<rusqlite::Error> for BatchFailure {
    fn from(error: rusqlite::Error) -> Self {
        BatchFailure::Sqlite(error)
    }
}

/// What the last record of a commit holds besides the record.
#[derive(Clone, Copy)]
struct RecordEnd {
    audit: Option<AuditEnd>,
    /// The change of the numbers of other rows.
    more: RowCounts,
}

/// An open transaction.
pub(super) struct Batch<'w> {
    pub(super) connection: &'w Connection,
    /// Rolled back if the batch fails, so that later batches see correct tips.
    pub(super) tips: &'w mut Tips,
    pub(super) audit_ends: &'w mut AuditEnds,
    pub(super) backlog: &'w mut IndexBacklog,
    pub(super) blobs: &'w FxHashSet<[u8; 16]>,
    pub(super) last_seq: i64,
    pub(super) indexed_through: i64,
    /// Records up to this one existed at the start, and may be without an index and without a tip in memory.
    pub(super) inherited_through: i64,
    /// The highest inbound sequence number in this batch.
    pub(super) inbound: i64,
    /// By how many messages in flight there are more after this batch.
    pub(super) in_flight: i64,
    /// True if the row of `marks` was written.
    pub(super) is_marked: bool,
    pub(super) owner: Owner,
    /// True once this batch was verified to be the owner's.
    pub(super) is_owned: bool,
    /// The statement that every commit needs, looked up once.
    pub(super) append: Option<CachedStatement<'w>>,
    pub(super) published: &'w Published,
}

impl Batch<'_> {
    pub(super) fn write(&mut self, commits: &[Commit]) -> Result<(), BatchFailure> {
        for commit in commits {
            self.commit(commit)?;
        }
        if self.inbound > 0 || self.in_flight != 0 {
            let row = [self.inbound, self.in_flight];
            self.mark("UPDATE marks SET inbound = max(inbound, ?1), in_flight = in_flight + ?2", row)?;
        }
        let tail_len = self.last_seq - self.indexed_through;
        if tail_len >= UNINDEXED_MAX || self.published.takes_index(tail_len) {
            self.index()?;
        }
        Ok(())
    }

    /// Writes the row of `marks`. Its hash follows at the end of the batch.
    pub(super) fn mark(&mut self, sql: &str, row: impl rusqlite::Params) -> Result<(), BatchFailure> {
        self.is_marked = true;
        self.run(sql, row)
    }

    /// Fails unless this is the owner's batch. Must be called before the commit.
    pub(super) fn insist_on_owner(&mut self) -> Result<(), BatchFailure> {
        self.is_owned = self.is_owned || self.owner.is_current(self.connection)?;
        if self.is_owned { Ok(()) } else { Err(BatchFailure::Fenced) }
    }

    pub(super) fn run(&self, sql: &str, row: impl rusqlite::Params) -> Result<(), BatchFailure> {
        self.change(sql, row).map(drop)
    }

    /// Returns the number of changed rows.
    pub(super) fn change(&self, sql: &str, row: impl rusqlite::Params) -> Result<i64, BatchFailure> {
        let changed = self.connection.prepare_cached(sql)?.execute(row)?;
        Ok(i64::try_from(changed).unwrap_or(i64::MAX))
    }

    fn commit(&mut self, commit: &Commit) -> Result<(), BatchFailure> {
        let key = commit.instance.0;
        match &commit.create {
            Some(new) => self.create(key, new)?,
            None if commit.records.is_empty() => self.must_exist(key)?,
            // The tip proves that it exists.
            None => {}
        }
        let (line_links, audit_end) = self.link_lines(commit)?;
        let before = self.last_seq;
        let snapshot_link = match needs_tip(commit) {
            true => {
                // Before the rows that it counts.
                let tip = self.tip(key)?;
                let (effects, deliveries) = (self.effects(key, commit)?, self.deliveries(key, commit)?);
                let more = RowCounts { effects, deliveries };
                self.records(key, commit, tip, RecordEnd { audit: audit_end, more })?
            }
            false => None,
        };
        if let Some(change) = &commit.migrated {
            self.run(
                "UPDATE instances SET chart = ?2, chart_id = ?3, version = ?4 WHERE key = ?1",
                params![key, change.chart, change.chart_id, change.version],
            )?;
            seals::renew_instance(self.connection, key)?;
        }
        if let Some(head) = &commit.head {
            self.head(key, head)?;
        }
        if let Some(snapshot) = &commit.snapshot {
            self.snapshot(key, snapshot, snapshot_link, &commit.records, before)?;
        }
        for blob in commit.blobs.iter().filter(|blob| !self.blobs.contains(&blob.hash)) {
            self.run(
                "INSERT OR IGNORE INTO blobs (hash, body) VALUES (?1, ?2)",
                params![blob.hash, blob.body],
            )?;
        }
        self.messages(commit)?;
        self.append_lines(&commit.audit, &line_links)
    }

    fn create(&mut self, key: i64, new: &NewInstance) -> Result<(), BatchFailure> {
        let exists = "SELECT 1 FROM instances WHERE key = ?1 OR id = ?2";
        if self.connection.prepare_cached(exists)?.exists(params![key, new.id])? {
            return Err(BatchFailure::Refused(format!("instance `{}` already exists", new.id)));
        }
        let parent = new.parent.as_ref();
        let origin = new.origin.as_ref();
        let head = Head::default();
        self.run(
            "INSERT INTO instances (key, id, chart, chart_id, version, parent_id, parent_invocation, parent_invoke,
                                    parent_generation, origin_id, origin_step, created_ms, status, wait, policy, seal,
                                    head_seal)
             VALUES (:key, :id, :chart, :chart_id, :version, :parent_id, :parent_invocation, :parent_invoke,
                     :parent_generation, :origin_id, :origin_step, :created_ms, :status, :wait, :policy, :seal,
                     :head_seal)",
            named_params! {
                ":key": key,
                ":id": new.id,
                ":chart": new.chart,
                ":chart_id": new.chart_id,
                ":version": new.version,
                ":parent_id": parent.map(|parent| &parent.id),
                ":parent_invocation": parent.map(|parent| int(parent.invocation)),
                ":parent_invoke": parent.map(|parent| &parent.invoke),
                ":parent_generation": parent.map_or(0, |parent| parent.generation),
                ":origin_id": origin.map(|origin| &origin.id),
                ":origin_step": origin.map(|origin| int(origin.step)),
                ":created_ms": new.created_ms,
                ":status": head.status.as_str(),
                ":wait": head.wait.as_str(),
                ":policy": new.policy,
                ":seal": seals::instance(key, new),
                ":head_seal": seals::head(key, &head, 0, &[]),
            },
        )?;
        self.tips.set(key, Tip::default());
        Ok(())
    }

    fn must_exist(&self, key: i64) -> Result<(), BatchFailure> {
        if self.tips.get(&key).is_some() {
            return Ok(());
        }
        let mut statement = self.connection.prepare_cached("SELECT 1 FROM instances WHERE key = ?1")?;
        match statement.query_row([key], |_| Ok(())).optional()? {
            Some(()) => Ok(()),
            None => Err(BatchFailure::Refused(format!("instance {key} not found"))),
        }
    }

    /// Appends the records, each linked to the one before, the last one with the ends and numbers of other rows. Returns
    /// the link of the record that the commit's snapshot is based on.
    fn records(
        &mut self,
        key: i64,
        commit: &Commit,
        mut tip: Tip,
        end: RecordEnd,
    ) -> Result<Option<ChainLink>, BatchFailure> {
        let wanted = commit.snapshot.as_ref().map(|snapshot| snapshot.step);
        let is_unchanged = end.more == RowCounts::default();
        tip.rows += end.more;
        let mut found = wanted.filter(|step| tip.step == Some(*step)).map(|_| tip.step_link);
        let last = commit.records.len().saturating_sub(1);
        for (at, record) in commit.records.iter().enumerate() {
            if record.instance.0 != key {
                return Err(not_its_own(key));
            }
            if !tip.allows(record) {
                return Err(self.out_of_order(key, &tip, record.step));
            }
            tip = tip.after(record);
            let is_last = at == last;
            let audit = end.audit.filter(|_| is_last);
            self.append(key, record, &tip.link, audit, Some(tip.rows).filter(|_| is_last))?;
            tip.seq = self.last_seq;
            if record.kind != RecordKind::Failed && wanted == Some(record.step) {
                found = Some(tip.link);
            }
        }
        if commit.records.is_empty() && !is_unchanged {
            let sql = "UPDATE journal SET open_effects = ?2, deliveries = ?3 WHERE seq = ?1";
            self.run(sql, [tip.seq, tip.rows.effects, tip.rows.deliveries])?;
        }
        if !commit.records.is_empty() || !is_unchanged {
            self.tips.set(key, tip);
        }
        Ok(found)
    }

    fn tip(&self, key: i64) -> Result<Tip, BatchFailure> {
        if let Some(tip) = self.tips.get(&key) {
            return Ok(tip);
        }
        self.must_exist(key)?;
        Ok(Tip::read(self.connection, key, self.indexed_through, self.inherited_through)?)
    }

    fn out_of_order(&self, key: i64, tip: &Tip, step: u64) -> BatchFailure {
        let id =
            self.connection.query_row("SELECT id FROM instances WHERE key = ?1", [key], |row| row.get(0));
        let id: String = id.unwrap_or_else(|_| format!("#{key}"));
        let last = tip.step.unwrap_or(0);
        let next = last.saturating_add(1);
        BatchFailure::Refused(format!(
            "instance `{id}` is at step {last}, so its next record is of step {next} and not of step {step}"
        ))
    }

    /// Appends a record. The first one of a batch also checks the ownership: a separate query would slow down a single
    /// commit.
    fn append(
        &mut self,
        key: i64,
        record: &Record,
        link: &ChainLink,
        audit: Option<AuditEnd>,
        rows: Option<RowCounts>,
    ) -> Result<(), BatchFailure> {
        let Record { at_ms, event, delta, effects, .. } = record;
        let (step, kind) = (int(record.step), kind_number(record.kind));
        let (lines, last_line) = audit.map(|end| (end.lines, end.link)).unzip();
        let (open, delivered) = rows.map(|rows| (rows.effects, rows.deliveries)).unzip();
        if !self.is_owned {
            let sql = "INSERT INTO journal (instance, step, at_ms, kind, event, delta, effects, chain,
                                            audit_lines, audit_chain, open_effects, deliveries)
                       SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12 FROM owner WHERE epoch = ?13";
            let epoch = self.owner.epoch;
            let row = params![
                key, step, at_ms, kind, event, delta, effects, link, lines, last_line, open, delivered, epoch
            ];
            self.is_owned = self.connection.prepare_cached(sql)?.execute(row)? == 1;
            return if self.is_owned { self.number(key, step) } else { Err(BatchFailure::Fenced) };
        }
        let append = match &mut self.append {
            Some(append) => append,
            None => self.append.insert(self.connection.prepare_cached(
                "INSERT INTO journal (instance, step, at_ms, kind, event, delta, effects, chain,
                                      audit_lines, audit_chain, open_effects, deliveries)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            )?),
        };
        append.execute(params![
            key, step, at_ms, kind, event, delta, effects, link, lines, last_line, open, delivered
        ])?;
        self.number(key, step)
    }

    /// Assigns the next sequence number to the appended record.
    fn number(&mut self, key: i64, step: i64) -> Result<(), BatchFailure> {
        let seq = self.connection.last_insert_rowid();
        let next = self.last_seq + 1;
        if seq != next {
            // The last record was pruned, and SQLite continues from the one before it.
            self.run("UPDATE journal SET seq = ?2 WHERE seq = ?1", [seq, next])?;
        }
        self.last_seq = next;
        self.backlog.add_record(key, next, step);
        Ok(())
    }

    /// Writes what lists show, and with it the end of the journal's chain, at no further cost.
    fn head(&self, key: i64, head: &Head) -> Result<(), BatchFailure> {
        let end = self.tip(key)?;
        let step = int(end.step.unwrap_or(0));
        self.run(
            "UPDATE instances SET status = ?2, wait = ?3, next_due_ms = ?4, fault = ?5, ledger = ?6, outcome = ?7,
                                  journal_step = ?8, journal_chain = ?9, head_seal = ?10
             WHERE key = ?1",
            params![
                key,
                head.status.as_str(),
                head.wait.as_str(),
                head.next_due_ms,
                head.fault,
                head.ledger,
                head.outcome.map(Outcome::as_str),
                step,
                end.link,
                seals::head(key, head, step, &end.link)
            ],
        )
    }

    /// Stores a snapshot with the position in the journal after which newer records begin.
    fn snapshot(
        &self,
        key: i64,
        snapshot: &SavedSnapshot,
        link: Option<ChainLink>,
        records: &[Record],
        before: i64,
    ) -> Result<(), BatchFailure> {
        // Steps only grow, so if the snapshot includes the first record of this commit, it includes all earlier ones.
        let is_current = records.first().is_some_and(|record| record.step <= snapshot.step);
        let after_seq = if is_current { before } else { 0 };
        let link = match link {
            Some(link) => link,
            // A snapshot of a step before the last.
            None => journal::link_at(self.connection, key, snapshot.step)?.unwrap_or(chain::START),
        };
        let hash = snapshots::hash(key, int(snapshot.step), after_seq, Some(&link), &snapshot.body);
        self.run(
            "INSERT OR REPLACE INTO snapshots (instance, step, after_seq, body, chain, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![key, int(snapshot.step), after_seq, snapshot.body, link, hash],
        )
    }
}

/// Returns true if a commit writes records or rows that they count, or is based on one.
fn needs_tip(commit: &Commit) -> bool {
    let Commit { records, snapshot, opened, closed, deliveries, .. } = commit;
    let is_empty = records.is_empty() && opened.is_empty() && closed.is_empty() && deliveries.is_empty();
    !is_empty || snapshot.is_some()
}

pub(super) fn not_its_own(key: i64) -> BatchFailure {
    BatchFailure::Refused(format!("a commit of instance {key} writes to another instance"))
}
