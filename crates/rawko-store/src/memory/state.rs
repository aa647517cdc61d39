//! The content of a memory store, and the application of commits. Checked first and applied second, so that a batch is
//! atomic.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::PLACE;
use crate::StoreError;
use crate::store::{ChangedInstances, Filter, HighestNumbers, InstancePage, SnapshotBase, StoreReport};
use crate::{
    AuditLine, ChartRow, Commit, Head, Inbound, InstanceKey, InstanceRow, NewInstance, OpenEffect, Record,
    RecordKind, SavedSnapshot,
};

#[derive(Default)]
pub(super) struct MemoryState {
    pub(super) charts: Vec<ChartRow>,
    pub(super) ids: FxHashMap<Arc<str>, InstanceKey>,
    pub(super) instances: BTreeMap<InstanceKey, InstanceState>,
    /// A record's sequence number is its position here, counted from 1.
    pub(super) journal: Vec<Record>,
    /// Instances whose head was last written without a record, with the number of records then.
    pub(super) quiet: BTreeMap<InstanceKey, u64>,
    pub(super) effects: BTreeMap<(InstanceKey, u64, u32), OpenEffect>,
    pub(super) inbound: BTreeMap<i64, Inbound>,
    pub(super) blobs: FxHashMap<[u8; 16], Vec<u8>>,
    pub(super) audit: Vec<AuditLine>,
    pub(super) marks: HighestNumbers,
    /// Counts the hosts that opened the store; the last one owns it.
    pub(super) epoch: u64,
}

/// One instance.
pub(super) struct InstanceState {
    pub(super) new: NewInstance,
    pub(super) head: Head,
    /// Positions of its records in the journal.
    records: Vec<usize>,
    pub(super) snapshots: BTreeMap<u64, SavedSnapshot>,
    pub(super) deliveries: FxHashMap<Arc<str>, u64>,
}

impl MemoryState {
    /// Fails unless all of these can be applied one after the other.
    pub(super) fn check(&self, commits: &[Commit]) -> Result<(), StoreError> {
        let mut created = FxHashSet::default();
        let mut ids = FxHashSet::default();
        let mut sent: FxHashMap<i64, bool> = FxHashMap::default();
        let mut steps = FxHashMap::default();
        for commit in commits {
            let key = commit.instance;
            let known = self.instances.contains_key(&key) || created.contains(&key);
            match &commit.create {
                Some(new) => {
                    if known || self.ids.contains_key(&new.id) || !ids.insert(&*new.id) {
                        return Err(StoreError::Refused(format!("instance `{}` already exists", new.id)));
                    }
                    created.insert(key);
                }
                None if known => {}
                None => return Err(StoreError::Refused(format!("instance {} not found", key.0))),
            }
            self.check_steps(commit, &mut steps)?;
            if commit.records.iter().any(|record| record.instance != key)
                || commit.opened.iter().any(|effect| effect.instance != key)
            {
                return Err(StoreError::Refused(format!(
                    "a commit of instance {} writes to another instance",
                    key.0
                )));
            }
            for event in &commit.sent {
                let there = sent.insert(event.seq, true).unwrap_or(self.inbound.contains_key(&event.seq));
                if there {
                    return Err(StoreError::Refused(format!("inbound event {} already exists", event.seq)));
                }
            }
            sent.extend(commit.taken.iter().map(|seq| (*seq, false)));
        }
        Ok(())
    }

    /// Fails unless each record is of the next step; the first one of an instance may be of any.
    fn check_steps(
        &self,
        commit: &Commit,
        steps: &mut FxHashMap<InstanceKey, Option<u64>>,
    ) -> Result<(), StoreError> {
        let key = commit.instance;
        let last = steps.entry(key).or_insert_with(|| self.last_step(key));
        for record in &commit.records {
            if let Some(last) = last.filter(|last| record.step.checked_sub(1) != Some(*last)) {
                let known = commit.create.as_ref().map(|new| &new.id);
                let id = known.or_else(|| self.instances.get(&key).map(|kept| &kept.new.id));
                let id = id.map_or_else(|| format!("#{}", key.0), |id| id.to_string());
                let (next, step) = (last.saturating_add(1), record.step);
                return Err(StoreError::Refused(format!(
                    "instance `{id}` is at step {last}, so its next record is of step {next} and not of step {step}"
                )));
            }
            if record.kind != RecordKind::Failed {
                *last = Some(record.step);
            }
        }
        Ok(())
    }

    /// Returns the last successful step of an instance.
    fn last_step(&self, key: InstanceKey) -> Option<u64> {
        let kept = self.instances.get(&key)?;
        let mut records = kept.records.iter().rev().map(|at| &self.journal[*at]);
        records.find(|record| record.kind != RecordKind::Failed).map(|record| record.step)
    }

    /// Applies a commit. Cannot fail after [`MemoryState::check`].
    pub(super) fn apply(&mut self, commit: &Commit) {
        let key = commit.instance;
        if let Some(new) = &commit.create {
            self.ids.insert(new.id.clone(), key);
            self.instances.insert(key, InstanceState::new(new));
            self.marks.instance = self.marks.instance.max(key.0);
        }
        let Some(kept) = self.instances.get_mut(&key) else { return };
        if let Some(change) = &commit.migrated {
            let new = &mut kept.new;
            (new.chart, new.chart_id, new.version) =
                (change.chart, change.chart_id.clone(), change.version.clone());
        }
        for record in &commit.records {
            kept.records.push(self.journal.len());
            self.journal.push(Record { seq: self.journal.len() as u64 + 1, ..record.clone() });
        }
        if let Some(head) = &commit.head {
            kept.head = (**head).clone();
            if commit.records.is_empty() {
                self.quiet.insert(key, self.journal.len() as u64);
            }
        }
        if let Some(snapshot) = &commit.snapshot {
            kept.snapshots.insert(snapshot.step, (**snapshot).clone());
        }
        for delivery in &commit.deliveries {
            kept.deliveries.entry(delivery.key.clone()).or_insert(delivery.step);
        }
        self.apply_rest(commit);
    }

    fn apply_rest(&mut self, commit: &Commit) {
        let key = commit.instance;
        for blob in &commit.blobs {
            self.blobs.entry(blob.hash).or_insert_with(|| blob.body.clone());
        }
        for effect in &commit.opened {
            self.effects.insert((key, effect.step, effect.index), effect.clone());
        }
        for (step, index) in &commit.closed {
            self.effects.remove(&(key, *step, *index));
        }
        for event in &commit.sent {
            self.marks.inbound = self.marks.inbound.max(event.seq);
            self.inbound.insert(event.seq, event.clone());
        }
        for seq in &commit.taken {
            self.inbound.remove(seq);
        }
        self.audit.extend(commit.audit.iter().cloned());
    }

    pub(super) fn put_chart(&mut self, chart: &ChartRow) {
        if !self.charts.iter().any(|known| known.hash == chart.hash) {
            self.charts.push(chart.clone());
        }
    }

    pub(super) fn charts_in_order(&self) -> Vec<ChartRow> {
        let mut charts: Vec<ChartRow> = self.charts.iter().rev().cloned().collect();
        charts
            .sort_by(|a, b| (&a.id, &a.version).cmp(&(&b.id, &b.version)).then(b.added_ms.cmp(&a.added_ms)));
        charts
    }

    pub(super) fn row(&self, key: InstanceKey) -> Option<InstanceRow> {
        let kept = self.instances.get(&key)?;
        let step = self.last_step(key).unwrap_or(0);
        let updated_ms = kept.records.last().map_or(kept.new.created_ms, |at| self.journal[*at].at_ms);
        Some(InstanceRow { key, new: kept.new.clone(), head: kept.head.clone(), step, updated_ms })
    }

    pub(super) fn list(&self, filter: &Filter) -> InstancePage {
        let matching: Vec<InstanceKey> = self
            .instances
            .iter()
            .rev()
            .filter(|(_, kept)| filter.matches(&kept.new, &kept.head))
            .map(|(key, _)| *key)
            .collect();
        let limit = if filter.limit == 0 { usize::MAX } else { filter.limit };
        let mut keys = matching.iter().filter(|key| filter.before.is_none_or(|before| **key < before));
        let rows: Vec<InstanceRow> = keys.by_ref().take(limit).filter_map(|key| self.row(*key)).collect();
        let next = keys.next().and_then(|_| rows.last()).map(|row| row.key);
        InstancePage { rows, next, total: matching.len() as u64 }
    }

    pub(super) fn changes_after(&self, after: u64) -> ChangedInstances {
        let from = self.journal.partition_point(|record| record.seq <= after);
        let quiet = self.quiet.iter().filter(|(_, seq)| **seq >= after).map(|(key, _)| *key);
        let changed: BTreeSet<InstanceKey> =
            self.journal[from..].iter().map(|record| record.instance).chain(quiet).collect();
        let through = self.journal.last().map_or(after, |last| last.seq.max(after));
        ChangedInstances { instances: changed.into_iter().collect(), through }
    }

    pub(super) fn children(&self, id: &str) -> Vec<InstanceRow> {
        let is_child =
            |kept: &InstanceState| kept.new.parent.as_ref().is_some_and(|parent| &*parent.id == id);
        let keys = self.instances.iter().filter(|(_, kept)| is_child(kept)).map(|(key, _)| *key);
        keys.filter_map(|key| self.row(key)).collect()
    }

    pub(super) fn base(&self, key: InstanceKey, at: Option<u64>) -> Option<SnapshotBase> {
        let kept = self.instances.get(&key)?;
        let at = at.unwrap_or(u64::MAX);
        let (from, snapshot) = kept.snapshots.range(..=at).next_back()?;
        let wanted =
            |record: &&Record| record.kind != RecordKind::Failed && record.step > *from && record.step <= at;
        let records = kept.records.iter().map(|at| &self.journal[*at]).filter(wanted).cloned().collect();
        Some(SnapshotBase { snapshot: snapshot.clone(), records })
    }

    pub(super) fn records(&self, key: InstanceKey, after: u64, limit: usize) -> Vec<Record> {
        let Some(kept) = self.instances.get(&key) else { return Vec::new() };
        let from = kept.records.partition_point(|at| self.journal[*at].seq <= after);
        kept.records[from..].iter().take(limit).map(|at| self.journal[*at].clone()).collect()
    }

    pub(super) fn timers(&self) -> Vec<(InstanceKey, i64)> {
        let due = |(key, kept): (&InstanceKey, &InstanceState)| kept.head.next_due_ms.map(|due| (*key, due));
        let mut timers: Vec<_> = self.instances.iter().filter_map(due).collect();
        timers.sort_by_key(|(key, due)| (*due, *key));
        timers
    }

    pub(super) fn audit(&self, instance: Option<&str>, limit: usize) -> Vec<AuditLine> {
        let wanted = |line: &&AuditLine| instance.is_none_or(|id| &*line.instance == id);
        let mut lines: Vec<AuditLine> = self.audit.iter().rev().filter(wanted).take(limit).cloned().collect();
        lines.reverse();
        lines
    }

    pub(super) fn audit_after(&self, seen: usize) -> Vec<AuditLine> {
        self.audit.iter().skip(seen).cloned().collect()
    }

    pub(super) fn report(&self) -> StoreReport {
        let mut problems = Vec::new();
        for kept in self.instances.values() {
            if kept.snapshots.is_empty() {
                problems.push(format!("instance `{}` has no snapshot", kept.new.id));
            }
            if !self.charts.iter().any(|chart| chart.hash == kept.new.chart) {
                problems.push(format!("the chart of instance `{}` is missing", kept.new.id));
            }
        }
        StoreReport {
            place: PLACE.to_owned(),
            format: 0,
            bytes: 0,
            instances: self.instances.len() as u64,
            records: self.journal.len() as u64,
            problems,
            ..StoreReport::default()
        }
    }
}

impl InstanceState {
    fn new(new: &NewInstance) -> Self {
        InstanceState {
            new: new.clone(),
            head: Head::default(),
            records: Vec::new(),
            snapshots: BTreeMap::new(),
            deliveries: FxHashMap::default(),
        }
    }
}
