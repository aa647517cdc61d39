//! `SnapshotReader`: stored instances as snapshots, at any step. Needs only a store, so that reading never depends on a running
//! host.

use std::sync::Arc;

use rawko_core::{Chart, Snapshot, SnapshotError};
use rawko_instance::{Instance, Pace, SavedInstance};
use rawko_store::content::{ListReader, ShortText};
use rawko_store::{InstanceKey, InstanceRow, RecordKind, SnapshotBase, Store, StoreError, content};

use crate::error::HostError;
use crate::library::Library;
use crate::recent::{RecentSnapshot, RecentSnapshots};
use crate::row_states::RowStates;

/// Smaller snapshots are read again from the store: their last records cost as much.
const LARGE_BYTES: usize = 32 * 1024;
/// Records that are read at once to bring a snapshot up to date; after more of them it is read again.
const RECORDS_MAX: usize = 256;

/// Rebuilds snapshots from stored records.
#[derive(Clone)]
pub struct SnapshotReader {
    store: Arc<dyn Store>,
    library: Arc<Library>,
    pub(crate) row_states: Arc<RowStates>,
    recent: Arc<RecentSnapshots>,
}

/// A snapshot after some step, with its chart.
#[derive(Clone, Debug)]
pub struct RestoredSnapshot {
    /// Chart that the snapshot belongs to.
    pub chart: Arc<Chart>,
    /// State after the step.
    pub snapshot: Snapshot,
    /// Time of the step.
    pub at_ms: i64,
    /// Bytes of the stored snapshot, and of the changes since.
    pub(crate) snapshot_bytes: usize,
    pub(crate) delta_bytes: usize,
    /// The same with large values, change by change.
    pub(crate) text_bytes: (usize, Vec<usize>),
}

impl SnapshotReader {
    /// Creates a reader that loads charts from the store only.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self::with_library(store, Arc::default())
    }

    pub(crate) fn with_library(store: Arc<dyn Store>, library: Arc<Library>) -> Self {
        Self { store, library, row_states: Arc::default(), recent: Arc::default() }
    }

    /// Returns the store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Returns the instance with this id.
    pub fn find(&self, id: &str) -> Result<InstanceRow, HostError> {
        self.store.find(id)?.ok_or_else(|| HostError::NoInstance(id.to_owned()))
    }

    /// Returns the exact chart of a stored instance.
    pub fn chart(&self, row: &InstanceRow) -> Result<Arc<Chart>, HostError> {
        self.library.by_hash(&row.new.chart, &*self.store)
    }

    /// Returns the snapshot after a step (default: the last).
    pub fn snapshot(&self, row: &InstanceRow, at: Option<u64>) -> Result<RestoredSnapshot, HostError> {
        if at.is_some() {
            return self.stored_snapshot(row, at);
        }
        if let Some(mut recent) = self.recent.take(row)
            && self.bring_up_to_date(&mut recent, row)?
        {
            let restored = recent.restored.clone();
            self.recent.keep(recent);
            return Ok(restored);
        }
        let restored = self.stored_snapshot(row, None)?;
        if restored.text_bytes.0 >= LARGE_BYTES {
            self.recent.keep(RecentSnapshot::of(row, restored.clone()));
        }
        Ok(restored)
    }

    /// Applies the records since a snapshot. Returns false if it has to be read from the store instead.
    fn bring_up_to_date(&self, recent: &mut RecentSnapshot, row: &InstanceRow) -> Result<bool, HostError> {
        let RecentSnapshot { restored, lists, .. } = recent;
        let next = restored.snapshot.step_number() + 1;
        let records = self.store.steps(row.key, next..=next + RECORDS_MAX as u64, RECORDS_MAX)?;
        if records.len() == RECORDS_MAX {
            return Ok(false);
        }
        for record in &records {
            match record.kind {
                RecordKind::Stepped | RecordKind::Ignored => {
                    let follows = record.step == restored.snapshot.step_number() + 1;
                    let applied = follows
                        && self
                            .apply_delta(&mut restored.snapshot, &restored.chart, &record.delta, lists)?
                            .is_ok();
                    if !applied {
                        return Ok(false);
                    }
                    restored.at_ms = record.at_ms;
                }
                RecordKind::Failed => {}
                RecordKind::Started | RecordKind::Forked | RecordKind::Migrated => return Ok(false),
            }
        }
        // The row is from before or after these records were read.
        Ok(restored.snapshot.step_number() >= row.step)
    }

    /// Returns the snapshot after a step from the store alone.
    fn stored_snapshot(&self, row: &InstanceRow, at: Option<u64>) -> Result<RestoredSnapshot, HostError> {
        let no_step = |step| HostError::NoStep { id: row.new.id.to_string(), step, last: row.step };
        if let Some(step) = at.filter(|step| *step > row.step) {
            return Err(no_step(step));
        }
        let base = self.store.base(row.key, at)?.ok_or_else(|| no_step(at.unwrap_or(row.step)))?;
        self.restore(row, at, &base)
    }

    /// Returns the snapshots of many instances after their last steps, read together; `None` for an unreadable one.
    pub fn snapshots(&self, rows: &[InstanceRow]) -> Result<Vec<Option<RestoredSnapshot>>, HostError> {
        let keys: Vec<InstanceKey> = rows.iter().map(|row| row.key).collect();
        let bases = self.store.bases(&keys)?;
        let restored = rows
            .iter()
            .zip(&bases)
            .map(|(row, base)| self.restore(row, None, base.as_ref().ok()?.as_ref()?).ok());
        Ok(restored.collect())
    }

    fn restore(
        &self,
        row: &InstanceRow,
        at: Option<u64>,
        base: &SnapshotBase,
    ) -> Result<RestoredSnapshot, HostError> {
        let mut chart = self.chart(row)?;
        let unusable = |why| HostError::Snapshot { id: row.new.id.to_string(), why };
        let text = self.unpack(&base.snapshot.body)?;
        let mut snapshot = match Snapshot::from_json(&chart, &text) {
            // A step before a migration.
            Err(
                SnapshotError::OtherChart { .. }
                | SnapshotError::OtherVersion { .. }
                | SnapshotError::OtherContent { .. },
            ) if at.is_some() => {
                chart = self.chart_of_snapshot(&text)?;
                Snapshot::from_json(&chart, &text)
            }
            read => read,
        }
        .map_err(unusable)?;
        let mut at_ms = row.new.created_ms;
        let (mut delta_bytes, mut text_bytes) = (0, (text.len(), Vec::new()));
        let mut lists = ListReader::default();
        for record in &base.records {
            match record.kind {
                RecordKind::Stepped | RecordKind::Ignored => {
                    let length = self
                        .apply_delta(&mut snapshot, &chart, &record.delta, &mut lists)?
                        .map_err(unusable)?;
                    delta_bytes += record.delta.len();
                    text_bytes.1.push(length);
                    at_ms = record.at_ms;
                }
                RecordKind::Started | RecordKind::Forked | RecordKind::Migrated | RecordKind::Failed => {}
            }
        }
        if base.records.is_empty() {
            at_ms = self.time_of(row, at)?;
        }
        let snapshot_bytes = base.snapshot.body.len();
        Ok(RestoredSnapshot { chart, snapshot, at_ms, snapshot_bytes, delta_bytes, text_bytes })
    }

    /// Returns the time of a step that a snapshot was stored with.
    fn time_of(&self, row: &InstanceRow, at: Option<u64>) -> Result<i64, HostError> {
        let Some(step) = at else { return Ok(row.updated_ms) };
        let records = self.store.steps(row.key, step..=step, usize::MAX)?;
        let taken = records.iter().rev().find(|record| record.kind != RecordKind::Failed);
        Ok(taken.map_or(row.new.created_ms, |record| record.at_ms))
    }

    /// Returns the instance as a driver continues it. Fails if the store contradicts itself about it.
    pub(crate) fn instance(&self, row: InstanceRow) -> Result<Instance, HostError> {
        let restored = self.stored_snapshot(&row, None)?;
        let parent = match &row.new.parent {
            Some(parent) => self.key(&parent.id)?,
            None => None,
        };
        let saved = SavedInstance {
            key: row.key,
            parent,
            calls: self.calls_so_far(&row.new.id)?,
            new: row.new,
            head: row.head,
            open: self.store.open_effects(Some(row.key))?,
            last_ms: row.updated_ms,
            snapshot_bytes: restored.snapshot_bytes,
            delta_bytes: restored.delta_bytes,
            pace: Pace::default(),
        };
        let (snapshot_bytes, changes) = restored.text_bytes;
        let instance = Instance::restore(saved, restored.chart, restored.snapshot)
            .with_text_bytes(snapshot_bytes, changes);
        match instance.contradiction() {
            None => self.store.insist_on_rows(instance.key()).map(|()| instance).map_err(HostError::from),
            Some(what) => {
                let place = format!("instance `{}`, step {}: {what}", instance.id(), instance.step());
                Err(StoreError::Damaged(place).into())
            }
        }
    }

    /// Checks what the hash chains do not cover: the chart, the status, the timers and the open effects of an instance.
    pub fn verify(&self, row: InstanceRow) -> Result<(), HostError> {
        self.instance(row).map(drop)
    }

    /// Counts the allowed calls of an instance: the audit has one line for each.
    fn calls_so_far(&self, id: &str) -> Result<u64, HostError> {
        let lines = self.store.audit(Some(id), usize::MAX)?;
        Ok(lines.iter().filter(|line| &*line.decision == "allowed").count() as u64)
    }

    /// Returns the chart that a snapshot was written with.
    fn chart_of_snapshot(&self, text: &str) -> Result<Arc<Chart>, HostError> {
        #[derive(serde::Deserialize)]
        struct Named {
            hash: String,
        }
        let named: Option<Named> = serde_json::from_str(text).ok();
        let hash = named.as_ref().and_then(|named| content::from_hex(&named.hash));
        let hash =
            hash.ok_or_else(|| HostError::NoChart(named.map(|named| named.hash).unwrap_or_default()))?;
        self.library.by_hash(&hash, &*self.store)
    }

    /// Expands packed text from the store to plain JSON.
    pub fn unpack(&self, text: &str) -> Result<String, StoreError> {
        content::unpack(text, &mut |hash| self.store.blob(hash))
    }

    /// Expands packed text, with marks in place of its long lists.
    pub fn shorten(&self, text: &str, lists: &mut ListReader) -> Result<ShortText, StoreError> {
        lists.shorten(text, &mut |hash| self.store.blob(hash))
    }

    /// Applies the packed changes of a record to the snapshot before it. Returns the length of their text, without long
    /// lists.
    pub fn apply_delta(
        &self,
        snapshot: &mut Snapshot,
        chart: &Chart,
        packed: &str,
        lists: &mut ListReader,
    ) -> Result<Result<usize, SnapshotError>, StoreError> {
        let short = self.shorten(packed, lists)?;
        if short.has_lists() {
            let mut after = snapshot.clone();
            let applied = after.apply_delta_json_with(chart, short.text(), &|value| short.restore(value));
            if applied.is_ok() && short.is_restored() {
                *snapshot = after;
                return Ok(Ok(short.text().len()));
            }
        }
        let text = self.unpack(packed)?;
        Ok(snapshot.apply_delta_json(chart, &text).map(|()| text.len()))
    }

    pub(crate) fn key(&self, id: &str) -> Result<Option<InstanceKey>, StoreError> {
        Ok(self.store.find(id)?.map(|row| row.key))
    }
}
