//! `Store`: the one thing a host needs from a disk. Synchronous and small; group commit is the writer's business
//! ([`crate::Writer`]), so that every store gets it.

use std::ops::RangeInclusive;

use rawko_core::Status;

use crate::StoreError;
use crate::{
    AuditLine, Blob, ChartHash, ChartRow, Commit, Inbound, InstanceKey, InstanceRow, OpenEffect, Outcome,
    Record, SavedSnapshot, Wait,
};

/// Records that [`Store::steps`] reads at once where a store cannot find steps itself.
const RECORDS_PER_READ: usize = 1_024;

/// Where instances live. All methods may be called from any thread; reads see every commit that returned before.
pub trait Store: Send + Sync {
    /// Makes all of these commits durable, or none of them. On return they survive `kill -9` and power loss.
    fn commit(&self, commits: &[Commit]) -> Result<(), StoreError>;

    /// Keeps a chart's text. The same chart again changes nothing.
    fn put_chart(&self, chart: &ChartRow) -> Result<(), StoreError>;
    fn chart(&self, hash: &ChartHash) -> Result<Option<ChartRow>, StoreError>;
    /// All charts ever run, by id and version, newest first within.
    fn charts(&self) -> Result<Vec<ChartRow>, StoreError>;

    fn find(&self, id: &str) -> Result<Option<InstanceRow>, StoreError>;
    fn instance(&self, key: InstanceKey) -> Result<Option<InstanceRow>, StoreError>;
    /// Newest first.
    fn list(&self, filter: &Filter) -> Result<Page, StoreError>;
    /// How many instances there are of each kind. Of the filter only `chart`, `part` and `roots_only` matter. A store
    /// that can count does not have to read them all.
    fn tally(&self, filter: &Filter) -> Result<Vec<Tally>, StoreError> {
        let any = Filter { before: None, limit: 0, ..filter.of_any_kind() };
        Ok(Tally::of(self.list(&any)?.rows.iter()))
    }
    /// Those an instance invoked, oldest first.
    fn children(&self, id: &str) -> Result<Vec<InstanceRow>, StoreError>;

    /// The nearest snapshot at or before a step, and the records after it up to that step, without those of failed
    /// steps (they changed nothing). `None`: the last step.
    fn base(&self, key: InstanceKey, at: Option<u64>) -> Result<Option<Base>, StoreError>;
    /// [`Store::base`] of the last step of each of these instances, in their order; one that is damaged leaves the others
    /// readable. A store that can read them together is faster than one after the other.
    fn bases(&self, keys: &[InstanceKey]) -> Result<Vec<Result<Option<Base>, StoreError>>, StoreError> {
        Ok(keys.iter().map(|key| self.base(*key, None)).collect())
    }
    /// Records of one instance in order, those with `seq > after`.
    fn records(&self, key: InstanceKey, after: u64, limit: usize) -> Result<Vec<Record>, StoreError>;
    /// Records of one instance in order, those of these steps; the first ones, if there are more than `limit`. A store
    /// that can find a step does not have to read those before it.
    fn steps(
        &self,
        key: InstanceKey,
        steps: RangeInclusive<u64>,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let (mut found, mut after) = (Vec::new(), 0);
        loop {
            let records = self.records(key, after, RECORDS_PER_READ)?;
            let Some((seq, step)) = records.last().map(|last| (last.seq, last.step)) else {
                return Ok(found);
            };
            after = seq;
            found.extend(records.into_iter().filter(|record| steps.contains(&record.step)));
            if step > *steps.end() || found.len() >= limit {
                found.truncate(limit);
                return Ok(found);
            }
        }
    }
    /// Records of all instances in order, those with `seq > after`.
    fn tail(&self, after: u64, limit: usize) -> Result<Vec<Record>, StoreError>;
    /// The sequence number of the last record; 0 when there is none.
    fn last_seq(&self) -> Result<u64, StoreError>;

    /// Open effects of one instance, or of all.
    fn open_effects(&self, key: Option<InstanceKey>) -> Result<Vec<OpenEffect>, StoreError>;
    /// Events on their way to one instance, or to all, in order.
    fn inbound(&self, key: Option<InstanceKey>) -> Result<Vec<Inbound>, StoreError>;
    /// Instances with a timer, and when it is due; the earliest first.
    fn timers(&self) -> Result<Vec<(InstanceKey, i64)>, StoreError>;
    /// The step that a delivery with this key led to.
    fn delivered(&self, key: InstanceKey, delivery: &str) -> Result<Option<u64>, StoreError>;

    fn blob(&self, hash: &[u8; 16]) -> Result<Option<Blob>, StoreError>;
    /// The last lines of the audit, oldest first; of one instance, or of all.
    fn audit(&self, instance: Option<&str>, limit: usize) -> Result<Vec<AuditLine>, StoreError>;

    /// The highest instance key and inbound sequence number ever used.
    fn marks(&self) -> Result<Marks, StoreError>;
    /// Whether a commit would succeed now: writes something small. `Ok` where a store has nothing that could fail.
    fn probe(&self) -> Result<(), StoreError> {
        Ok(())
    }
    /// How the store is, for `doctor`.
    fn report(&self) -> Result<Report, StoreError>;
}

/// Which instances to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Any of these; empty: any at all.
    pub statuses: Vec<Status>,
    pub waits: Vec<Wait>,
    pub outcomes: Vec<Outcome>,
    /// The chart's id.
    pub chart: Option<String>,
    /// What the id has in it somewhere; capitals of ASCII do not matter.
    pub part: Option<String>,
    /// Only those nobody invoked.
    pub roots_only: bool,
    /// Only keys below this one: where the last page ended.
    pub before: Option<InstanceKey>,
    /// 0: no limit.
    pub limit: usize,
}

impl Filter {
    /// The same for instances of every status, wait and outcome.
    pub(crate) fn of_any_kind(&self) -> Filter {
        Filter { statuses: Vec::new(), waits: Vec::new(), outcomes: Vec::new(), ..self.clone() }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    pub rows: Vec<InstanceRow>,
    /// Where the next page begins (`Filter::before`), when there is one.
    pub next: Option<InstanceKey>,
    /// How many there are in all pages.
    pub total: u64,
}

/// How many instances are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    pub status: Status,
    pub wait: Wait,
    /// Nobody invoked them.
    pub is_root: bool,
    pub count: u64,
}

impl Tally {
    fn of<'a>(rows: impl Iterator<Item = &'a InstanceRow>) -> Vec<Tally> {
        let mut tallies: Vec<Tally> = Vec::new();
        for row in rows {
            let (status, wait, is_root) = (row.head.status, row.head.wait, row.new.parent.is_none());
            let same =
                |known: &&mut Tally| (known.status, known.wait, known.is_root) == (status, wait, is_root);
            match tallies.iter_mut().find(same) {
                Some(known) => known.count += 1,
                None => tallies.push(Tally { status, wait, is_root, count: 1 }),
            }
        }
        tallies
    }
}

/// What a snapshot is rebuilt from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    pub snapshot: SavedSnapshot,
    pub records: Vec<Record>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    pub instance: i64,
    pub inbound: i64,
}

/// How a store is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Where it is, in words.
    pub place: String,
    pub format: u32,
    pub bytes: u64,
    pub instances: u64,
    pub records: u64,
    /// Records of the last 24 hours, by the clock of this machine.
    pub recent_records: u64,
    /// Of `bytes`, room that is kept for what comes.
    pub free_bytes: u64,
    /// What the store's own check found; empty when all is well.
    pub problems: Vec<String>,
}
