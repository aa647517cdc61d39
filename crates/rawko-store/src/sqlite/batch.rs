//! One transaction: what commits do to the tables. Apart from the connection it runs on and what that remembers.

use rusqlite::{CachedStatement, Connection, OptionalExtension, named_params, params};
use rustc_hash::FxHashSet;

use super::rows::{int, kind_number};
use crate::{Commit, Head, NewInstance, OpenEffect, Record, SavedSnapshot};

/// Records the index may lag behind. Large enough that indexing costs a page for many records, small enough that
/// reading past the index costs nothing to speak of.
const UNINDEXED_MAX: i64 = 2_048;

/// Why a batch was not kept.
pub(super) enum Failure {
    Sqlite(rusqlite::Error),
    Refused(String),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Failure::Sqlite(error)
    }
}

/// One transaction under way.
pub(super) struct Batch<'w> {
    pub(super) connection: &'w Connection,
    pub(super) known: &'w FxHashSet<i64>,
    pub(super) blobs: &'w FxHashSet<[u8; 16]>,
    /// Instances that begin in this batch.
    pub(super) created: FxHashSet<i64>,
    pub(super) last_seq: i64,
    pub(super) indexed_through: i64,
    /// The highest inbound sequence number in this batch.
    pub(super) inbound: i64,
    /// The one statement that every commit needs, looked up once.
    pub(super) append: Option<CachedStatement<'w>>,
}

impl Batch<'_> {
    pub(super) fn write(&mut self, commits: &[Commit]) -> Result<(), Failure> {
        for commit in commits {
            self.commit(commit)?;
        }
        if self.inbound > 0 {
            self.run("UPDATE marks SET inbound = max(inbound, ?1)", [self.inbound])?;
        }
        if self.last_seq - self.indexed_through >= UNINDEXED_MAX {
            self.index()?;
        }
        Ok(())
    }

    pub(super) fn run(&self, sql: &str, row: impl rusqlite::Params) -> Result<(), Failure> {
        self.connection.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    /// Brings both indexes up to the last record and the last line. In their own order, so that each of their pages is
    /// visited once.
    pub(super) fn index(&mut self) -> Result<(), Failure> {
        self.run(
            "INSERT INTO journal_index (instance, seq, step)
             SELECT instance, seq, step FROM journal WHERE seq > ?1 ORDER BY instance, seq",
            [self.indexed_through],
        )?;
        self.run(
            "INSERT INTO audit_index (instance, line)
             SELECT instance, line FROM audit WHERE line > (SELECT audited_through FROM marks)
             ORDER BY instance, line",
            [],
        )?;
        self.run(
            "UPDATE marks SET indexed_through = ?1,
                              audited_through = (SELECT coalesce(max(line), 0) FROM audit)",
            [self.last_seq],
        )?;
        self.indexed_through = self.last_seq;
        Ok(())
    }

    fn commit(&mut self, commit: &Commit) -> Result<(), Failure> {
        let key = commit.instance.0;
        match &commit.create {
            Some(new) => self.create(key, new)?,
            None => self.must_exist(key)?,
        }
        let before = self.last_seq;
        for record in &commit.records {
            self.record(key, record)?;
        }
        if let Some(head) = &commit.head {
            self.head(key, head)?;
        }
        if let Some(snapshot) = &commit.snapshot {
            self.snapshot(key, snapshot, &commit.records, before)?;
        }
        for blob in commit.blobs.iter().filter(|blob| !self.blobs.contains(&blob.hash)) {
            self.run(
                "INSERT OR IGNORE INTO blobs (hash, body) VALUES (?1, ?2)",
                params![blob.hash, blob.body],
            )?;
        }
        self.effects(key, commit)?;
        self.messages(commit)?;
        self.lines(key, commit)
    }

    fn create(&mut self, key: i64, new: &NewInstance) -> Result<(), Failure> {
        let exists = "SELECT 1 FROM instances WHERE key = ?1 OR id = ?2";
        if self.connection.prepare_cached(exists)?.exists(params![key, new.id])? {
            return Err(Failure::Refused(format!("instance `{}` exists already", new.id)));
        }
        let parent = new.parent.as_ref();
        let origin = new.origin.as_ref();
        let head = Head::default();
        self.run(
            "INSERT INTO instances (key, id, chart, chart_id, version, parent_id, parent_invocation, parent_invoke,
                                    origin_id, origin_step, created_ms, status, wait, policy)
             VALUES (:key, :id, :chart, :chart_id, :version, :parent_id, :parent_invocation, :parent_invoke,
                     :origin_id, :origin_step, :created_ms, :status, :wait, :policy)",
            named_params! {
                ":key": key,
                ":id": new.id,
                ":chart": new.chart,
                ":chart_id": new.chart_id,
                ":version": new.version,
                ":parent_id": parent.map(|parent| &parent.id),
                ":parent_invocation": parent.map(|parent| int(parent.invocation)),
                ":parent_invoke": parent.map(|parent| &parent.invoke),
                ":origin_id": origin.map(|origin| &origin.id),
                ":origin_step": origin.map(|origin| int(origin.step)),
                ":created_ms": new.created_ms,
                ":status": head.status.as_str(),
                ":wait": head.wait.as_str(),
                ":policy": new.policy,
            },
        )?;
        self.created.insert(key);
        Ok(())
    }

    fn must_exist(&self, key: i64) -> Result<(), Failure> {
        if self.known.contains(&key) || self.created.contains(&key) {
            return Ok(());
        }
        let mut statement = self.connection.prepare_cached("SELECT 1 FROM instances WHERE key = ?1")?;
        match statement.query_row([key], |_| Ok(())).optional()? {
            Some(()) => Ok(()),
            None => Err(Failure::Refused(format!("there is no instance {key}"))),
        }
    }

    fn record(&mut self, key: i64, record: &Record) -> Result<(), Failure> {
        if record.instance.0 != key {
            return Err(not_its_own(key));
        }
        let append = match &mut self.append {
            Some(append) => append,
            None => self.append.insert(self.connection.prepare_cached(
                "INSERT INTO journal (instance, step, at_ms, kind, event, delta, effects)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?),
        };
        append.execute(params![
            key,
            int(record.step),
            record.at_ms,
            kind_number(record.kind),
            record.event,
            record.delta,
            record.effects
        ])?;
        self.last_seq = self.connection.last_insert_rowid();
        Ok(())
    }

    fn head(&self, key: i64, head: &Head) -> Result<(), Failure> {
        self.run(
            "UPDATE instances SET status = ?2, wait = ?3, next_due_ms = ?4, fault = ?5, ledger = ?6
             WHERE key = ?1",
            params![key, head.status.as_str(), head.wait.as_str(), head.next_due_ms, head.fault, head.ledger],
        )
    }

    /// Remembers where in the journal to begin reading for what came after the snapshot.
    fn snapshot(
        &self,
        key: i64,
        snapshot: &SavedSnapshot,
        records: &[Record],
        before: i64,
    ) -> Result<(), Failure> {
        // Steps only grow, so when the first record of this commit is part of the snapshot, all earlier ones are.
        let is_current = records.first().is_some_and(|record| record.step <= snapshot.step);
        self.run(
            "INSERT OR REPLACE INTO snapshots (instance, step, after_seq, body) VALUES (?1, ?2, ?3, ?4)",
            params![key, int(snapshot.step), if is_current { before } else { 0 }, snapshot.body],
        )
    }

    fn effects(&self, key: i64, commit: &Commit) -> Result<(), Failure> {
        for effect in &commit.opened {
            if effect.instance.0 != key {
                return Err(not_its_own(key));
            }
            self.open_effect(key, effect)?;
        }
        for (step, index) in &commit.closed {
            self.run(
                "DELETE FROM effects WHERE instance = ?1 AND step = ?2 AND \"index\" = ?3",
                params![key, int(*step), index],
            )?;
        }
        Ok(())
    }

    fn open_effect(&self, key: i64, effect: &OpenEffect) -> Result<(), Failure> {
        self.run(
            "INSERT OR REPLACE INTO effects
                 (instance, step, \"index\", kind, invocation, name, body, opened_ms, due_ms, idempotency,
                  result, parked, in_doubt)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            params![
                key,
                int(effect.step),
                effect.index,
                effect.kind.as_str(),
                effect.invocation.map(int),
                effect.name,
                effect.body,
                effect.opened_ms,
                effect.due_ms,
                effect.idempotency,
                effect.result,
                effect.parked,
                effect.in_doubt
            ],
        )
    }

    fn messages(&mut self, commit: &Commit) -> Result<(), Failure> {
        for event in &commit.sent {
            let row = params![event.seq, event.to.0, event.event];
            self.run("INSERT INTO inbound (seq, \"to\", event) VALUES (?1, ?2, ?3)", row)?;
            self.inbound = self.inbound.max(event.seq);
        }
        for seq in &commit.taken {
            self.run("DELETE FROM inbound WHERE seq = ?1", [seq])?;
        }
        Ok(())
    }

    fn lines(&self, key: i64, commit: &Commit) -> Result<(), Failure> {
        for delivery in &commit.deliveries {
            let row = params![key, delivery.key, int(delivery.step)];
            self.run("INSERT OR IGNORE INTO deliveries (instance, key, step) VALUES (?1, ?2, ?3)", row)?;
        }
        for line in &commit.audit {
            self.run(
                "INSERT INTO audit (at_ms, instance, effect, service, decision, reason, provenance)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    line.at_ms,
                    line.instance,
                    line.effect,
                    line.service,
                    line.decision,
                    line.reason,
                    line.provenance
                ],
            )?;
        }
        Ok(())
    }
}

fn not_its_own(key: i64) -> Failure {
    Failure::Refused(format!("a commit of instance {key} writes for another"))
}
