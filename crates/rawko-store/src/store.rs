//! `Store`: the storage interface of a host. Synchronous and small; group commit is separate ([`crate::CommitWriter`]), so
//! that every store gets it.

use std::ops::RangeInclusive;

use rawko_core::Status;

use crate::StoreError;
use crate::transfer::InstanceFamily;
use crate::{
    AuditLine, Blob, ChartHash, ChartRow, Commit, FamilySize, Head, Inbound, InstanceKey, InstanceRow,
    InstanceStatus, NewInstance, OpenEffect, Outcome, Record, SavedSnapshot, WaitReason,
};

/// Number of records that [`Store::steps`] reads at once in stores that cannot look up steps.
const RECORDS_PER_READ: usize = 1_024;

/// The storage of instances. All methods may be called from any thread; reads see every commit that returned before.
pub trait Store: Send + Sync {
    /// Makes all of these commits durable, or none of them. On return they survive `kill -9` and power loss.
    fn commit(&self, commits: &[Commit]) -> Result<(), StoreError>;

    /// Stores a chart's text. The same chart again changes nothing.
    fn put_chart(&self, chart: &ChartRow) -> Result<(), StoreError>;
    /// Returns the chart with this content hash; `None` if it was never stored.
    fn chart(&self, hash: &ChartHash) -> Result<Option<ChartRow>, StoreError>;
    /// Returns all charts ever run, by id and version, newest first within.
    fn charts(&self) -> Result<Vec<ChartRow>, StoreError>;

    /// Returns the instance with this id; `None` if there is none.
    fn find(&self, id: &str) -> Result<Option<InstanceRow>, StoreError>;
    /// Returns the instance with this key; `None` if there is none.
    fn instance(&self, key: InstanceKey) -> Result<Option<InstanceRow>, StoreError>;
    /// Returns a page of instances, newest first.
    fn list(&self, filter: &Filter) -> Result<InstancePage, StoreError>;
    /// Returns the instances with these keys, in their order, without those that do not exist. Override it in a store that can
    /// read them together.
    fn rows_of(&self, keys: &[InstanceKey]) -> Result<Vec<InstanceRow>, StoreError> {
        keys.iter().filter_map(|key| self.instance(*key).transpose()).collect()
    }
    /// Returns the instances with records of `seq > after`; `None` in a store that would have to read all. Removed instances are
    /// not among them.
    fn changes_after(&self, _after: u64) -> Result<Option<ChangedInstances>, StoreError> {
        Ok(None)
    }
    /// Returns the number of instances of each kind. Uses only `chart`, `part` and `roots_only` of the filter. The
    /// default reads all instances; override it in a store that can count.
    fn tally(&self, filter: &Filter) -> Result<Vec<InstanceTally>, StoreError> {
        let any = Filter { before: None, limit: 0, ..filter.of_any_kind() };
        Ok(InstanceTally::of(self.list(&any)?.rows.iter()))
    }
    /// Returns the instances that an instance invoked, oldest first.
    fn children(&self, id: &str) -> Result<Vec<InstanceRow>, StoreError>;
    /// Returns true if [`Self::children`] reads the children only. A list asks for the children of each row only then.
    fn has_index_of_children(&self) -> bool {
        true
    }
    /// Counts the instances of a family: a root and its descendants. `since_ms` is for [`FamilySize::begun`]. Override it in a
    /// store that can count.
    fn family_size(&self, root: &str, since_ms: i64) -> Result<FamilySize, StoreError> {
        let family = DrivenInstances::Only(vec![root.to_owned()]);
        let page = self.list(&Filter { part: Some(root.to_owned()), ..Filter::default() })?;
        let mut size = FamilySize::default();
        for row in page.rows.iter().filter(|row| family.includes(&row.new)) {
            size.living += u64::from(!row.head.status.is_over());
            size.begun += u64::from(row.new.parent.is_some() && row.new.created_ms >= since_ms);
        }
        Ok(size)
    }

    /// Returns the nearest snapshot at or before a step (`None`: the last), and the records after it up to that step,
    /// without those of failed steps, which changed nothing.
    fn base(&self, key: InstanceKey, at: Option<u64>) -> Result<Option<SnapshotBase>, StoreError>;
    /// Returns [`Store::base`] of the last step of each of these instances, in their order; a damaged one leaves the
    /// others readable. Override it in a store that can read them together.
    fn bases(
        &self,
        keys: &[InstanceKey],
    ) -> Result<Vec<Result<Option<SnapshotBase>, StoreError>>, StoreError> {
        Ok(keys.iter().map(|key| self.base(*key, None)).collect())
    }
    /// Returns the records of one instance with `seq > after`, in order.
    fn records(&self, key: InstanceKey, after: u64, limit: usize) -> Result<Vec<Record>, StoreError>;
    /// Returns the records of one instance for these steps, in order; the first ones, if there are more than `limit`.
    /// Override it in a store that can look up a step.
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
    /// Returns the records of all instances with `seq > after`, in order.
    fn tail(&self, after: u64, limit: usize) -> Result<Vec<Record>, StoreError>;
    /// Returns the sequence number of the last record; 0 if there is none.
    fn last_seq(&self) -> Result<u64, StoreError>;

    /// Returns the open effects of one instance, or of all.
    fn open_effects(&self, key: Option<InstanceKey>) -> Result<Vec<OpenEffect>, StoreError>;
    /// Fails if rows of an instance are missing that no other check misses: open effects, deliveries. For an instance that is
    /// about to continue.
    fn insist_on_rows(&self, _key: InstanceKey) -> Result<(), StoreError> {
        Ok(())
    }
    /// Returns the events in flight to one instance, or to all, in order.
    fn inbound(&self, key: Option<InstanceKey>) -> Result<Vec<Inbound>, StoreError>;
    /// Returns the instances with a timer and its due time, earliest first.
    fn timers(&self) -> Result<Vec<(InstanceKey, i64)>, StoreError>;
    /// Returns the step that handled the delivery with this key.
    fn delivered(&self, key: InstanceKey, delivery: &str) -> Result<Option<u64>, StoreError>;

    /// Returns the blob with this content hash; `None` if there is none.
    fn blob(&self, hash: &[u8; 16]) -> Result<Option<Blob>, StoreError>;
    /// Returns the last lines of the audit, oldest first, of one instance or of all.
    fn audit(&self, instance: Option<&str>, limit: usize) -> Result<Vec<AuditLine>, StoreError>;
    /// Returns the audit lines of all instances after the first `seen` ones. Override it in a store that need not copy those.
    fn audit_after(&self, seen: usize) -> Result<Vec<AuditLine>, StoreError> {
        let mut lines = self.audit(None, usize::MAX)?;
        lines.drain(..seen.min(lines.len()));
        Ok(lines)
    }

    /// Returns an instance with all of its data and its descendants; `None` if it does not exist. Stores without their own
    /// journal refuse.
    fn family(&self, _id: &str) -> Result<Option<InstanceFamily>, StoreError> {
        Err(StoreError::Refused("instances of this store cannot be exported".to_owned()))
    }

    /// Returns true if [`Store::remove`] is available.
    fn can_remove(&self) -> bool {
        false
    }
    /// Removes these ended roots with their descendants, all or none. Returns the number of removed instances. The space is
    /// used again by later commits.
    fn remove(&self, _roots: &[InstanceKey]) -> Result<u64, StoreError> {
        Err(StoreError::Refused("instances of this store cannot be removed".to_owned()))
    }

    /// Returns the highest instance key and inbound sequence number ever used.
    fn marks(&self) -> Result<HighestNumbers, StoreError>;
    /// Closes the store for writing, once everything is committed; later commits fail. Without it, the store is closed
    /// when its last reference is dropped, which an ending process may not reach.
    fn close(&self) {}
    /// Tests that a commit would succeed now, with a small write. `Ok` in a store where writing cannot fail.
    fn probe(&self) -> Result<(), StoreError> {
        Ok(())
    }
    /// Returns problems of the rows that decide what instances do next, for a host that starts: of some instances after this
    /// one, and for `None` those of the whole store, too. A part is quick, so that it can run beside a host.
    fn damage(&self, _after: Option<InstanceKey>) -> Result<DamagePart, StoreError> {
        Ok(DamagePart::default())
    }
    /// Returns the state of the store, for `doctor`.
    fn report(&self) -> Result<StoreReport, StoreError>;
}

/// Answer of [`Store::changes_after`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedInstances {
    /// Keys, in no particular order.
    pub instances: Vec<InstanceKey>,
    /// Sequence number of the last record that was considered.
    pub through: u64,
}

#[cfg(feature = "sqlite")]
impl ChangedInstances {
    /// Adds instances, each once.
    pub(crate) fn with(mut self, others: Vec<InstanceKey>) -> Self {
        self.instances.extend(others);
        self.instances.sort_unstable();
        self.instances.dedup();
        self
    }
}

/// A part of [`Store::damage`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DamagePart {
    /// Descriptions, with the instance where it is known.
    pub problems: Vec<String>,
    /// The last instance of this part; `None` if there are no more.
    pub last: Option<InstanceKey>,
}

/// Selects the instances to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Any of these; empty: all.
    pub statuses: Vec<Status>,
    /// Any of these reasons to wait; empty: all.
    pub waits: Vec<WaitReason>,
    /// Any of these outcomes; empty: all, including instances that have not ended.
    pub outcomes: Vec<Outcome>,
    /// Any of these, as people see them; empty: all.
    pub shown: Vec<InstanceStatus>,
    /// The instances that a host moves, for `shown`.
    pub driven: DrivenInstances,
    /// The chart's id.
    pub chart: Option<String>,
    /// No instances of these charts.
    pub except: Vec<String>,
    /// A part of the id, ignoring ASCII case.
    pub part: Option<String>,
    /// Only instances without a parent.
    pub roots_only: bool,
    /// Only keys below this one, the end of the last page.
    pub before: Option<InstanceKey>,
    /// 0: no limit.
    pub limit: usize,
}

impl Filter {
    /// Returns the same filter for instances of every status, wait and outcome.
    pub(crate) fn of_any_kind(&self) -> Filter {
        let (statuses, waits, outcomes, shown) = Default::default();
        Filter { statuses, waits, outcomes, shown, ..self.clone() }
    }

    /// Returns true for an instance of the list, on whichever page.
    pub fn matches(&self, new: &NewInstance, head: &Head) -> bool {
        (self.statuses.is_empty() || self.statuses.contains(&head.status))
            && (self.waits.is_empty() || self.waits.contains(&head.wait))
            && (self.outcomes.is_empty()
                || head.outcome.is_some_and(|outcome| self.outcomes.contains(&outcome)))
            && self.shows(new, head)
            && self.chart.as_deref().is_none_or(|chart| chart == &*new.chart_id)
            && !self.except.iter().any(|chart| **chart == *new.chart_id)
            && self.part.as_deref().is_none_or(|part| has_part(&new.id, part))
            && !(self.roots_only && new.parent.is_some())
    }

    /// Returns true if the status of an instance is one of those that are shown.
    pub fn shows(&self, new: &NewInstance, head: &Head) -> bool {
        self.shown.is_empty() || self.shown.contains(&InstanceStatus::of(head, self.driven.includes(new)))
    }
}

fn has_part(id: &str, part: &str) -> bool {
    id.to_ascii_lowercase().contains(&part.to_ascii_lowercase())
}

/// The instances that a host moves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DrivenInstances {
    /// Every instance.
    #[default]
    All,
    /// Those of these trees, by the ids of their roots.
    Only(Vec<String>),
}

impl DrivenInstances {
    /// Returns true if an instance belongs to the scope.
    pub fn includes(&self, new: &NewInstance) -> bool {
        match self {
            DrivenInstances::All => true,
            // The id of a descendant begins with that of its root.
            DrivenInstances::Only(roots) => roots.iter().any(|root| {
                let rest = new.id.strip_prefix(root.as_str());
                rest.is_some_and(|rest| rest.is_empty() || (new.parent.is_some() && rest.starts_with('.')))
            }),
        }
    }
}

/// A page of [`Store::list`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstancePage {
    /// At most `Filter::limit` instances, newest first.
    pub rows: Vec<InstanceRow>,
    /// The start of the next page (`Filter::before`), if there is one.
    pub next: Option<InstanceKey>,
    /// The number of instances in all pages.
    pub total: u64,
}

/// The number of instances of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstanceTally {
    /// Status of all counted instances.
    pub status: Status,
    /// Reason why the counted instances wait.
    pub wait: WaitReason,
    /// True for instances with a fault.
    pub is_faulty: bool,
    /// True for instances without a parent.
    pub is_root: bool,
    /// Number of instances with this status, wait and position; never 0.
    pub count: u64,
}

impl InstanceTally {
    fn of<'a>(rows: impl Iterator<Item = &'a InstanceRow>) -> Vec<InstanceTally> {
        let mut tallies: Vec<InstanceTally> = Vec::new();
        for row in rows {
            let (status, wait) = (row.head.status, row.head.wait);
            let (is_faulty, is_root) = (row.head.fault.is_some(), row.new.parent.is_none());
            let one = InstanceTally { status, wait, is_faulty, is_root, count: 1 };
            match tallies.iter_mut().find(|known| InstanceTally { count: 1, ..**known } == one) {
                Some(known) => known.count += 1,
                None => tallies.push(one),
            }
        }
        tallies
    }
}

/// The base from which a snapshot is rebuilt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotBase {
    /// The nearest snapshot at or before the requested step.
    pub snapshot: SavedSnapshot,
    /// Records after the snapshot up to the requested step, without failed steps.
    pub records: Vec<Record>,
}

/// The highest numbers ever used, including those of pruned instances; a host continues above them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HighestNumbers {
    /// Highest [`InstanceKey`]; 0 in an empty store.
    pub instance: i64,
    /// Highest sequence number of an inbound event; 0 if there was none.
    pub inbound: i64,
}

/// The state of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreReport {
    /// A description of its location.
    pub place: String,
    /// Version of the file format; 0 for a store without a file.
    pub format: u32,
    /// Size of the file and its write-ahead log in bytes; 0 for a store without a file.
    pub bytes: u64,
    /// Number of instances, including ended ones and children.
    pub instances: u64,
    /// Number of journal records of all instances.
    pub records: u64,
    /// Records of the last 24 hours, by the clock of this machine.
    pub recent_records: u64,
    /// The part of `bytes` that is free for new data.
    pub free_bytes: u64,
    /// Problems found by the store's own check; empty if none.
    pub problems: Vec<String>,
}
