//! `SqliteStore`: one file, one connection that writes, others that read. Separate from the memory store, because only
//! this module knows SQL.

mod audits;
mod backup;
mod batch;
mod check;
mod connection;
mod contents;
mod counts;
mod create;
mod damage;
mod entries;
mod family;
mod fault;
mod indexing;
mod instances;
mod journal;
mod journal_ends;
mod log;
mod log_end;
mod marks;
mod open_files;
mod owner;
mod prune;
mod published;
mod recent;
mod relocate;
mod reserve;
mod row_counts;
mod rows;
mod schema;
mod seals;
mod snapshots;
mod upgrade;
mod verify;
mod wal;
mod watch;
mod write;

use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension, Row};

use crate::StoreError;
use crate::report::ChainReport;
use crate::store::{
    ChangedInstances, DamagePart, Filter, HighestNumbers, InstancePage, InstanceTally, SnapshotBase, Store,
    StoreReport,
};
use crate::transfer::InstanceFamily;
use crate::{
    AuditLine, Blob, ChartHash, ChartRow, Commit, FamilySize, Inbound, InstanceKey, InstanceRow, OpenEffect,
    Record,
};
pub use backup::{RestoreReport, StoreCheck};
use connection::Readers;
use counts::StatusCounts;
use fault::StoreReadError;
use owner::Owner;
pub use prune::{Prunable, Pruned, Retention};
use published::Published;
use rawko_instance::content;
use rows::{CHART, EFFECT, INBOUND, uint};
use write::WriteSide;

/// Options for opening a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SqliteOptions {
    /// Maximum size of the file, without the write-ahead log beside it, which takes about 4 MiB more.
    pub size_max_bytes: Option<u64>,
    /// For readers in other processes while a host runs; such a store refuses commits.
    pub read_only: bool,
}

/// A store in one SQLite file.
pub struct SqliteStore {
    place: PathBuf,
    /// Closed before the connection that writes: the last one to close checkpoints the log, if it may write.
    readers: Readers,
    /// `None` if opened read-only.
    write_side: Option<Mutex<WriteSide>>,
    /// The owner and what it publishes; `None` if opened read-only.
    owned: Option<(Owner, Arc<Published>)>,
    counts: StatusCounts,
    /// Dropped last: the connections must be closed before.
    _file: open_files::OpenStoreFile,
}

impl SqliteStore {
    /// Verifies the hash chains of the journals and of the audit. `Err` if the file cannot be read as far as that.
    pub fn verify_chains(&self) -> Result<ChainReport, StoreError> {
        self.readers.read(check::chains)
    }

    /// Opens a store, or creates it; its directory must exist. One host at a time: see [`crate::Lock`].
    pub fn open(path: &Path, options: SqliteOptions) -> Result<SqliteStore, StoreError> {
        owner::refuse_lost_file(path)?;
        let check = || wal::refuse_damage(path);
        let opened = open_files::open_checked(path, check, || Self::connect(path, options))?;
        let ((write_side, readers), file) = opened;
        let owned = write_side.as_ref().map(|side| (side.owner(), Arc::clone(side.published())));
        let (place, write_side) = (path.to_owned(), write_side.map(Mutex::new));
        Ok(SqliteStore { place, readers, write_side, owned, counts: StatusCounts::default(), _file: file })
    }

    fn connect(path: &Path, options: SqliteOptions) -> Result<(Option<WriteSide>, Readers), StoreError> {
        let write_side = match options.read_only {
            true => None,
            false => Some(WriteSide::open(path, options.size_max_bytes)?),
        };
        let readers = Readers::new(path);
        readers.visit(|connection| {
            schema::check(connection, path)?;
            owner::refuse_lost_log(connection, path)?;
            log_end::refuse_lost_records(connection, path)
        })??;
        Ok((write_side, readers))
    }

    /// Returns true for a file whose creation as a store was interrupted by an earlier release: there is nothing in it.
    /// An empty file is a store that was truncated.
    pub fn is_blank(path: &Path) -> bool {
        if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0) {
            return false;
        }
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY | rusqlite::OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let tables = rusqlite::Connection::open_with_flags(path, flags).and_then(|file| {
            file.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))
        });
        tables == Ok(0)
    }

    /// Marks a store with a lost log as closed, without the commits in that log, after a person decided so. It must not
    /// be in use; see [`crate::Lock`].
    pub fn accept_loss(path: &Path) -> Result<(), StoreError> {
        write::accept_loss(path)
    }

    /// Returns the path of the SQLite file, as passed to [`SqliteStore::open`].
    pub fn path(&self) -> &Path {
        &self.place
    }

    fn write_side(&self) -> Result<MutexGuard<'_, WriteSide>, StoreError> {
        let side = self
            .write_side
            .as_ref()
            .ok_or_else(|| StoreError::Io(format!("{} is open read-only", self.place.display())))?;
        Ok(side.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Indexes the end of the journal if reading past the index would cost more than that.
    fn catch_up(&self) {
        let (Some(side), Some((_, published))) = (&self.write_side, &self.owned) else { return };
        if published.is_long() {
            match side.try_lock() {
                Ok(mut side) => side.index(),
                Err(_) => published.want_index(),
            }
        }
    }

    fn read<T, E: Into<StoreReadError>>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, StoreError> {
        self.readers.read(read)
    }

    /// Returns all rows of a query.
    fn rows<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.read(|connection| connection.prepare_cached(sql)?.query_map(values, row)?.collect())
    }

    /// Returns the rows of a query that are not damaged.
    fn readable<T>(
        &self,
        sql: &str,
        row: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let read = |found: &Row<'_>| match row(found) {
            Err(error) if fault::is_conversion(&error) => Ok(None),
            other => other.map(Some),
        };
        Ok(self.rows(sql, [], read)?.into_iter().flatten().collect())
    }

    /// Returns the only row of a query, if any.
    fn row<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        row: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        self.read(|connection| connection.prepare_cached(sql)?.query_row(values, row).optional())
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Store for SqliteStore {
    fn commit(&self, commits: &[Commit]) -> Result<(), StoreError> {
        self.write_side()?.commit(commits)
    }

    fn family(&self, id: &str) -> Result<Option<InstanceFamily>, StoreError> {
        SqliteStore::family(self, id)
    }

    fn can_remove(&self) -> bool {
        self.write_side.is_some()
    }

    fn remove(&self, roots: &[InstanceKey]) -> Result<u64, StoreError> {
        Ok(self.prune(roots)?.instances)
    }

    fn put_chart(&self, chart: &ChartRow) -> Result<(), StoreError> {
        self.write_side()?.put_chart(chart)
    }

    fn chart(&self, hash: &ChartHash) -> Result<Option<ChartRow>, StoreError> {
        self.row(&format!("SELECT {CHART} FROM charts WHERE hash = ?1"), [hash], rows::chart)
    }

    fn charts(&self) -> Result<Vec<ChartRow>, StoreError> {
        let order = "ORDER BY id, version, added_ms DESC, rowid DESC";
        self.rows(&format!("SELECT {CHART} FROM charts {order}"), [], rows::chart)
    }

    fn find(&self, id: &str) -> Result<Option<InstanceRow>, StoreError> {
        self.catch_up();
        self.read(|connection| instances::find(connection, id))
    }

    fn instance(&self, key: InstanceKey) -> Result<Option<InstanceRow>, StoreError> {
        self.read(|connection| instances::instance(connection, key))
    }

    fn list(&self, filter: &Filter) -> Result<InstancePage, StoreError> {
        self.catch_up();
        let version = self.lists_version();
        self.read(|connection| {
            let count = || instances::total(connection, filter);
            let total = match self.owned_version(connection, version)? {
                Some(version) => self.counts.total(version, filter, count)?,
                None => count()?,
            };
            instances::list(connection, filter, total)
        })
    }

    fn rows_of(&self, keys: &[InstanceKey]) -> Result<Vec<InstanceRow>, StoreError> {
        self.catch_up();
        self.read(|connection| instances::rows_of(connection, keys))
    }

    fn changes_after(&self, after: u64) -> Result<Option<ChangedInstances>, StoreError> {
        let changed = self.read(|connection| instances::changes_after(connection, after))?;
        let Some((_, published)) = &self.owned else { return Ok(Some(changed)) };
        Ok(published.quiet_since(after).map(|quiet| changed.with(quiet)))
    }

    fn tally(&self, filter: &Filter) -> Result<Vec<InstanceTally>, StoreError> {
        let version = self.lists_version();
        self.read(|connection| {
            let count = || instances::tally(connection, filter);
            match self.owned_version(connection, version)? {
                Some(version) => self.counts.tally(version, filter, count),
                None => count(),
            }
        })
    }

    fn children(&self, id: &str) -> Result<Vec<InstanceRow>, StoreError> {
        self.read(|connection| instances::children(connection, id))
    }

    fn family_size(&self, root: &str, since_ms: i64) -> Result<FamilySize, StoreError> {
        self.read(|connection| instances::family_size(connection, root, since_ms))
    }

    fn base(&self, key: InstanceKey, at: Option<u64>) -> Result<Option<SnapshotBase>, StoreError> {
        self.read(|connection| journal::base(connection, key, at))
    }

    fn bases(
        &self,
        keys: &[InstanceKey],
    ) -> Result<Vec<Result<Option<SnapshotBase>, StoreError>>, StoreError> {
        let bases = self.read(|connection| journal::bases(connection, keys))?;
        let named = |error: StoreReadError| error.into_fault(&self.place);
        Ok(bases.into_iter().map(|base| base.map_err(named)).collect())
    }

    fn records(&self, key: InstanceKey, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.read(|connection| journal::records(connection, key, after, limit))
    }

    fn steps(
        &self,
        key: InstanceKey,
        steps: RangeInclusive<u64>,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        self.read(|connection| journal::steps(connection, key, &steps, limit))
    }

    fn tail(&self, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.read(|connection| journal::tail(connection, after, limit))
    }

    fn last_seq(&self) -> Result<u64, StoreError> {
        self.read(journal::last_seq).map(uint)
    }

    fn open_effects(&self, key: Option<InstanceKey>) -> Result<Vec<OpenEffect>, StoreError> {
        let order = "ORDER BY instance, step, \"index\"";
        match key {
            Some(key) => self.read(|connection| seals::effects(connection, key)),
            // An unreadable effect is skipped: it is damage of one instance, and is reported when that is loaded.
            None => self.readable(&format!("SELECT {EFFECT} FROM effects {order}"), rows::effect),
        }
    }

    fn insist_on_rows(&self, key: InstanceKey) -> Result<(), StoreError> {
        self.read(|connection| row_counts::check(connection, key))
    }

    fn inbound(&self, key: Option<InstanceKey>) -> Result<Vec<Inbound>, StoreError> {
        match key {
            Some(key) => self.read(|connection| seals::messages(connection, key)),
            None => self.readable(&format!("SELECT {INBOUND} FROM inbound ORDER BY seq"), rows::inbound),
        }
    }

    fn timers(&self) -> Result<Vec<(InstanceKey, i64)>, StoreError> {
        self.read(instances::timers)
    }

    fn delivered(&self, key: InstanceKey, delivery: &str) -> Result<Option<u64>, StoreError> {
        self.read(|connection| seals::delivered(connection, key, delivery))
    }

    fn blob(&self, hash: &[u8; 16]) -> Result<Option<Blob>, StoreError> {
        let blob = self.row("SELECT hash, body FROM blobs WHERE hash = ?1", [hash], rows::blob)?;
        match blob {
            Some(blob) if content::hash(&blob.body) != *hash => Err(StoreError::Damaged(format!(
                "{}: the blob {} was modified",
                self.place.display(),
                content::hex(hash)
            ))),
            blob => Ok(blob),
        }
    }

    fn audit(&self, instance: Option<&str>, limit: usize) -> Result<Vec<AuditLine>, StoreError> {
        self.read(|connection| audits::lines(connection, instance, limit))
    }

    fn marks(&self) -> Result<HighestNumbers, StoreError> {
        self.read(|connection| -> rusqlite::Result<HighestNumbers> {
            let inbound = connection.query_row("SELECT inbound FROM marks", [], |row| row.get(0))?;
            Ok(HighestNumbers { instance: instances::highest_key(connection)?, inbound })
        })
    }

    fn probe(&self) -> Result<(), StoreError> {
        self.write_side()?.probe()
    }

    fn close(&self) {
        // A read-only store has nothing to close.
        if let Ok(mut side) = self.write_side() {
            side.close();
        }
    }

    fn damage(&self, after: Option<InstanceKey>) -> Result<DamagePart, StoreError> {
        self.read(|connection| damage::part(connection, after))
    }

    fn report(&self) -> Result<StoreReport, StoreError> {
        self.readers.visit(|connection| check::report(connection, &self.place))
    }
}
