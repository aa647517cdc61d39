//! The writing side: the only connection that writes, with a batch of commits in one transaction and one fsync. A batch
//! succeeds only if this handle still owns the file and the file still exists.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, params};
use rustc_hash::FxHashSet;

use super::audits::AuditEnds;
use super::batch::{Batch, BatchFailure};
use super::connection::{CHECKPOINT_PAGES, make_durable, open_writer};
use super::fault::fault;
use super::indexing::IndexBacklog;
use super::journal_ends::Tips;
use super::log_end::{self, LogEndFile, LogFrames};
use super::owner::{self, Owner};
use super::published::Published;
use super::reserve::Reserve;
use super::watch::FileWatch;
use super::{create, journal, marks, schema, wal};
use crate::StoreError;
use crate::{ChartRow, Commit};

/// Maximum number of blobs remembered as stored, to avoid writing them again. Cleared all at once.
const BLOBS_MAX: usize = 65_536;

/// The only connection that writes.
pub(super) struct WriteSide {
    place: PathBuf,
    connection: Connection,
    owner: Owner,
    watch: FileWatch,
    reserve: Reserve,
    log_end: LogEndFile,
    frames: LogFrames,
    /// The reason why this handle has stopped writing.
    ended: Option<StoreError>,
    tips: Tips,
    audit_ends: AuditEnds,
    backlog: IndexBacklog,
    blobs: FxHashSet<[u8; 16]>,
    indexed_through: i64,
    last_seq: i64,
    /// Records up to this one existed before and may be unindexed.
    inherited_through: i64,
    published: Arc<Published>,
}

impl WriteSide {
    pub(super) fn open(place: &Path, size_max_bytes: Option<u64>) -> Result<WriteSide, StoreError> {
        refuse_hard_links(place)?;
        wal::sync(place)?;
        create::create(place)?;
        let mut connection = open_writer(place)?;
        let format = schema::refuse_foreign(&connection, place)?;
        if format >= schema::OWNER_SINCE {
            owner::refuse_lost_log(&connection, place)?;
            log_end::refuse_lost_records(&connection, place)?;
        }
        make_durable(&connection, size_max_bytes).map_err(|error| fault(place, &error))?;
        // Checkpoints follow the check that the files are still there.
        let frames = LogFrames::follow(&mut connection).map_err(|error| fault(place, &error))?;
        schema::migrate(&mut connection, place)?;
        marks::refuse_modified(&connection, place)?;
        let owner = Owner::claim(&mut connection).map_err(|error| fault(place, &error))?;
        let read = || Ok((journal::indexed_through(&connection)?, journal::last_seq(&connection)?));
        let (indexed_through, last_seq) = read().map_err(|error| fault(place, &error))?;
        let watch = FileWatch::new(place)?;
        let reserve = Reserve::new(place, watch.log_len());
        let log_end = LogEndFile::open(place, &connection);
        let mut side = WriteSide {
            place: place.to_owned(),
            connection,
            owner,
            watch,
            reserve,
            log_end,
            frames,
            ended: None,
            tips: Tips::default(),
            audit_ends: AuditEnds::default(),
            backlog: IndexBacklog::default(),
            blobs: FxHashSet::default(),
            indexed_through,
            last_seq,
            inherited_through: last_seq,
            published: Arc::default(),
        };
        // A host that opens a store is about to read many instances. Indexing may fail on a full store, which can still
        // be opened.
        side.index();
        Ok(side)
    }

    pub(super) fn commit(&mut self, commits: &[Commit]) -> Result<(), StoreError> {
        let is_listed =
            |commit: &Commit| commit.create.is_some() || commit.head.is_some() || commit.migrated.is_some();
        self.transact_with(commits.iter().any(is_listed), |batch| batch.write(commits))?;
        if self.blobs.len() > BLOBS_MAX {
            self.blobs.clear();
        }
        for commit in commits {
            self.blobs.extend(commit.blobs.iter().map(|blob| blob.hash));
        }
        let is_quiet = |commit: &&Commit| commit.records.is_empty() && is_listed(commit);
        let mut quiet = commits.iter().filter(is_quiet).map(|commit| commit.instance).peekable();
        if quiet.peek().is_some() {
            self.published.changed_quietly(quiet, self.last_seq.cast_unsigned());
        }
        Ok(())
    }

    pub(super) fn put_chart(&mut self, chart: &ChartRow) -> Result<(), StoreError> {
        self.transact(|batch| {
            batch.run(
                "INSERT OR IGNORE INTO charts (hash, id, version, name, text, added_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![chart.hash, chart.id, chart.version, chart.name, chart.text, chart.added_ms],
            )
        })
    }

    /// Writes a counter, to test that writing works.
    pub(super) fn probe(&mut self) -> Result<(), StoreError> {
        self.transact_with(false, |batch| batch.run("UPDATE owner SET probes = probes + 1", []))
    }

    /// Runs a transaction, all or nothing.
    pub(super) fn transact(
        &mut self,
        work: impl FnOnce(&mut Batch<'_>) -> Result<(), BatchFailure>,
    ) -> Result<(), StoreError> {
        self.transact_with(true, work)
    }

    /// `changes_lists`: columns of instances that lists filter by or count are written.
    fn transact_with(
        &mut self,
        changes_lists: bool,
        work: impl FnOnce(&mut Batch<'_>) -> Result<(), BatchFailure>,
    ) -> Result<(), StoreError> {
        if let Some(why) = &self.ended {
            return Err(why.clone());
        }
        if let Err(failure) = self.attempt(work) {
            self.roll_back();
            return Err(match failure {
                BatchFailure::Sqlite(error) => fault(&self.place, &error),
                BatchFailure::Refused(why) => StoreError::Refused(why),
                BatchFailure::Fenced => {
                    let place = self.place.display().to_string();
                    self.end(StoreError::Fenced { place })
                }
            });
        }
        self.log_end.write(self.frames.last(), self.last_seq);
        self.tips.keep();
        self.audit_ends.keep();
        self.backlog.keep();
        self.published.committed(self.last_seq - self.indexed_through, changes_lists);
        // A batch in a deleted file is not acknowledged. It cannot be undone either, so this handle stops writing.
        self.watch.check().map_err(|why| self.end(why))?;
        // Not by SQLite within the commit: a database that was truncated would have its full length again at the check.
        if self.frames.last() >= u64::from(CHECKPOINT_PAGES) {
            let _ = owner::checkpoint(&self.connection);
        }
        if let Some(len) = self.reserve.extend(self.watch.log_len()) {
            self.watch.set_log_len(len);
        }
        Ok(())
    }

    fn attempt(
        &mut self,
        work: impl FnOnce(&mut Batch<'_>) -> Result<(), BatchFailure>,
    ) -> Result<(), BatchFailure> {
        let mut batch = Batch {
            connection: &self.connection,
            tips: &mut self.tips,
            audit_ends: &mut self.audit_ends,
            backlog: &mut self.backlog,
            blobs: &self.blobs,
            last_seq: self.last_seq,
            indexed_through: self.indexed_through,
            inherited_through: self.inherited_through,
            inbound: 0,
            in_flight: 0,
            is_marked: false,
            owner: self.owner,
            is_owned: false,
            append: None,
            published: &self.published,
        };
        batch.run("BEGIN IMMEDIATE", [])?;
        if let Err(failure) = work(&mut batch) {
            // The caches of a fenced handle are stale, so the fencing is the actual reason.
            let is_fenced = matches!(self.owner.is_current(&self.connection), Ok(false));
            return Err(if is_fenced { BatchFailure::Fenced } else { failure });
        }
        batch.insist_on_owner()?;
        if batch.is_marked {
            marks::renew(&self.connection)?;
        }
        batch.run("COMMIT", [])?;
        let Batch { last_seq, indexed_through, .. } = batch;
        (self.last_seq, self.indexed_through) = (last_seq, indexed_through);
        Ok(())
    }

    pub(super) fn place(&self) -> &Path {
        &self.place
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Clears the caches after rows were removed.
    pub(super) fn forget(&mut self) {
        self.tips = Tips::default();
        self.audit_ends = AuditEnds::default();
        self.blobs.clear();
        // All records are indexed.
        self.inherited_through = 0;
    }

    /// Accepts shorter files from here on, because this handle truncated them.
    pub(super) fn look_after_shrinking(&mut self) -> Result<(), StoreError> {
        self.watch.check_shrunk().map_err(|why| self.end(why))
    }

    fn end(&mut self, why: StoreError) -> StoreError {
        self.ended.get_or_insert(why).clone()
    }

    /// Indexes all records.
    pub(super) fn index(&mut self) {
        if self.indexed_through < self.last_seq && self.transact_with(false, |batch| batch.index()).is_err() {
            // The next batch retries.
            self.published.index_failed();
        }
    }

    pub(super) fn owner(&self) -> Owner {
        self.owner
    }

    pub(super) fn published(&self) -> &Arc<Published> {
        &self.published
    }

    /// Closes the file: indexes all records, removes the mark and checkpoints the log. A handle that has stopped
    /// writing leaves the log alone.
    pub(super) fn close(&mut self) {
        self.index();
        if self.transact(|batch| batch.run("UPDATE owner SET is_open = 0", [])).is_ok() {
            // Explicit, because with an open reader closing alone would leave the mark in the log.
            let _ = owner::checkpoint(&self.connection);
            let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
            self.log_end.remove();
            let closed = format!("{} was closed", self.place.display());
            self.ended = Some(StoreError::Io(closed));
        }
    }

    fn roll_back(&mut self) {
        self.tips.undo();
        self.audit_ends.undo();
        self.backlog.undo();
        // SQLite ends a transaction by itself after some errors. If the rollback fails, too, the next BEGIN reports the
        // reason.
        if !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }
}

impl Drop for WriteSide {
    fn drop(&mut self) {
        self.close();
    }
}

/// Removes the mark of an open file.
pub(super) fn accept_loss(place: &Path) -> Result<(), StoreError> {
    if !place.exists() {
        return Err(StoreError::Io(format!("{} not found", place.display())));
    }
    let connection = open_writer(place)?;
    let format = schema::refuse_foreign(&connection, place)?;
    if format >= schema::OWNER_SINCE {
        let accepted = connection.execute_batch("UPDATE owner SET is_open = 0");
        accepted.map_err(|error| fault(place, &error))?;
        if format == schema::FORMAT {
            marks::restore(&connection).map_err(|error| fault(place, &error))?;
        }
        // Without the frames behind a damaged one, which the next host would find again.
        let truncated = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        truncated.map_err(|error| fault(place, &error))?;
    }
    Ok(())
}

/// SQLite derives the log's name from the file's: under two names there are two logs, and neither host sees the other.
fn refuse_hard_links(place: &Path) -> Result<(), StoreError> {
    match std::fs::metadata(place) {
        Ok(metadata) if metadata.is_file() && metadata.nlink() > 1 => Err(StoreError::Io(format!(
            "refusing to open {} for writing: it has {} hard links, and under each name it would have another \
             write-ahead log; remove the other names",
            place.display(),
            metadata.nlink()
        ))),
        Ok(_) | Err(_) => Ok(()),
    }
}
