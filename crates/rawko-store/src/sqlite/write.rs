//! The writing side: the one connection that writes, a batch of commits in one transaction with one fsync.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use rustc_hash::FxHashSet;

use super::batch::{Batch, Failure};
use super::connection::{make_durable, open_writer};
use super::fault::fault;
use super::schema;
use crate::StoreError;
use crate::{ChartRow, Commit};

/// Things remembered as stored, so that they are not asked for again. Forgotten all at once.
const KNOWN_MAX: usize = 65_536;

/// The one connection that writes.
pub(super) struct WriteSide {
    place: PathBuf,
    connection: Connection,
    instances: FxHashSet<i64>,
    blobs: FxHashSet<[u8; 16]>,
    indexed_through: i64,
    last_seq: i64,
}

impl WriteSide {
    pub(super) fn open(place: &Path, size_max_bytes: Option<u64>) -> Result<WriteSide, StoreError> {
        let mut connection = open_writer(place)?;
        schema::refuse_foreign(&connection, place)?;
        make_durable(&connection, size_max_bytes).map_err(|error| fault(place, &error))?;
        schema::migrate(&mut connection, place)?;
        let number = |sql: &str| {
            connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(|error| fault(place, &error))
        };
        let indexed_through = number("SELECT indexed_through FROM marks")?;
        let last_seq = number("SELECT coalesce(max(seq), 0) FROM journal")?;
        let mut side = WriteSide {
            place: place.to_owned(),
            connection,
            instances: FxHashSet::default(),
            blobs: FxHashSet::default(),
            indexed_through,
            last_seq,
        };
        // Whoever opens a store is about to read many instances. A disk that is full is no reason not to open it.
        if indexed_through < last_seq {
            let _ = side.transact(|batch| batch.index());
        }
        Ok(side)
    }

    pub(super) fn commit(&mut self, commits: &[Commit]) -> Result<(), StoreError> {
        self.transact(|batch| batch.write(commits))?;
        self.remember(commits);
        Ok(())
    }

    /// All of it, or nothing.
    fn transact(
        &mut self,
        work: impl FnOnce(&mut Batch<'_>) -> Result<(), Failure>,
    ) -> Result<(), StoreError> {
        let mut batch = Batch {
            connection: &self.connection,
            known: &self.instances,
            blobs: &self.blobs,
            created: FxHashSet::default(),
            last_seq: self.last_seq,
            indexed_through: self.indexed_through,
            inbound: 0,
            append: None,
        };
        let outcome = batch
            .run("BEGIN IMMEDIATE", [])
            .and_then(|()| work(&mut batch))
            .and_then(|()| batch.run("COMMIT", []));
        let (last_seq, indexed_through) = (batch.last_seq, batch.indexed_through);
        drop(batch);
        if let Err(failure) = outcome {
            self.roll_back();
            return Err(match failure {
                Failure::Sqlite(error) => fault(&self.place, &error),
                Failure::Refused(why) => StoreError::Refused(why),
            });
        }
        (self.last_seq, self.indexed_through) = (last_seq, indexed_through);
        Ok(())
    }

    pub(super) fn put_chart(&mut self, chart: &ChartRow) -> Result<(), StoreError> {
        let sql = "INSERT OR IGNORE INTO charts (hash, id, version, name, text, added_ms)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let row = params![chart.hash, chart.id, chart.version, chart.name, chart.text, chart.added_ms];
        let put = || self.connection.prepare_cached(sql)?.execute(row);
        put().map(drop).map_err(|error| fault(&self.place, &error))
    }

    fn roll_back(&mut self) {
        // SQLite ends a transaction by itself after some errors. If this fails, too, the next BEGIN says why.
        if !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }

    fn remember(&mut self, commits: &[Commit]) {
        if self.instances.len() > KNOWN_MAX {
            self.instances.clear();
        }
        if self.blobs.len() > KNOWN_MAX {
            self.blobs.clear();
        }
        for commit in commits {
            self.instances.insert(commit.instance.0);
            self.blobs.extend(commit.blobs.iter().map(|blob| blob.hash));
        }
    }
}
