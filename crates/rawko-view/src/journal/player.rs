//! `Player`: replays records into entries. It keeps the snapshot of each instance it has seen, so that every record can
//! be compared with the state before it.

use std::collections::HashMap;
use std::sync::Arc;

use rawko_core::{
    Chart, Effect, Event, Invocation, NamedEvent, ServiceClass, ServiceName, Snapshot, Value, World,
};
use rawko_host::{MigrationRecord, SnapshotReader};
use rawko_store::content::ListReader;
use rawko_store::{EffectKind, InstanceKey, InstanceRow, Record, RecordKind, Store, WaitReason};

use super::traced::{self, StepDetail};
use super::{ContextChange, EntryBody, EntryEffect, JournalEntry, Moves, words};
use crate::error::ViewError;

/// Converts records to entries, in order. An instance first seen in the middle of its life is replayed from there.
pub struct Player {
    reader: SnapshotReader,
    /// If set, every step is replayed to find its states and transitions.
    world: Option<World>,
    /// True if replayed steps also record the reasons.
    has_story: bool,
    met: HashMap<InstanceKey, PlayedInstance>,
}

struct PlayedInstance {
    row: InstanceRow,
    chart: Arc<Chart>,
    /// Snapshot before the next record; `None` before the first one.
    snapshot: Option<Snapshot>,
    /// The chart before the last migration.
    earlier: Option<Arc<Chart>>,
    /// The long lists in its records: a conversation is read once, not with every record.
    lists: ListReader,
}

impl Player {
    /// With a world, every entry includes its story.
    pub fn new(reader: SnapshotReader, explaining: Option<World>) -> Self {
        Self { reader, has_story: explaining.is_some(), world: explaining, met: HashMap::new() }
    }

    /// Replays each step for its states and transitions, without the story.
    pub fn moving(reader: SnapshotReader, world: World) -> Self {
        Self { reader, has_story: false, world: Some(world), met: HashMap::new() }
    }

    /// Drops the snapshot of an instance whose next records are not read here.
    pub fn forget(&mut self, key: InstanceKey) {
        self.met.remove(&key);
    }

    /// Returns the number of instances with a cached snapshot.
    pub fn met(&self) -> usize {
        self.met.len()
    }

    /// Drops the snapshots of all instances; the next record of each restores it from the store.
    pub fn forget_all(&mut self) {
        self.met.clear();
    }

    /// Converts a record to an entry.
    pub fn entry(&mut self, record: &Record) -> Result<JournalEntry, ViewError> {
        self.told(record, self.world.is_some())
    }

    /// Converts a record to an entry without replaying its step.
    pub fn glance(&mut self, record: &Record) -> Result<JournalEntry, ViewError> {
        self.told(record, false)
    }

    fn told(&mut self, record: &Record, again: bool) -> Result<JournalEntry, ViewError> {
        if !self.met.contains_key(&record.instance) {
            let met = self.meet(record)?;
            self.met.insert(record.instance, met);
        }
        let Some(met) = self.met.get_mut(&record.instance) else {
            return Err(ViewError::Unreadable("a record without an instance".to_owned()));
        };
        let effects = effects_of(record, &self.reader, &mut met.lists)?;
        let event = PlayedEvent::of(record, &self.reader, &mut met.lists)?;
        let before = met.snapshot.take();
        let (after, refusal) = match record.kind {
            RecordKind::Started | RecordKind::Forked => {
                (self.reader.snapshot(&met.row, Some(record.step))?.snapshot, None)
            }
            RecordKind::Migrated => {
                let restored = self.reader.snapshot(&met.row, Some(record.step))?;
                met.earlier = Some(std::mem::replace(&mut met.chart, restored.chart));
                (restored.snapshot, None)
            }
            RecordKind::Stepped | RecordKind::Ignored => {
                let mut after = before.clone().ok_or_else(|| no_beginning(&met.row))?;
                self.reader
                    .apply_delta(&mut after, &met.chart, &record.delta, &mut met.lists)?
                    .map_err(|why| unreadable(&met.row, &why))?;
                (after, None)
            }
            RecordKind::Failed => {
                let same = before.clone().ok_or_else(|| no_beginning(&met.row))?;
                let why = self.reader.unpack(&record.delta)?;
                (same, Some(serde_json::from_str(&why).unwrap_or(why)))
            }
        };
        let is_migration = record.kind == RecordKind::Migrated;
        let step = PlayedRecord { met, before: before.as_ref(), after: &after, event: &event, is_migration };
        let mut entry = step.entry(record, effects, refusal);
        if let Some(world) = self.world.as_ref().filter(|_| again) {
            let (chart, instance) = (&met.chart, &met.row.new.facts());
            let step = StepDetail { chart, before: before.as_ref(), after: &after, event: &event, instance };
            (entry.moves, entry.story) = traced::again(&step, record, world, self.has_story);
        }
        entry.wait = match &entry.what {
            EntryBody::Paused { .. } => WaitReason::Paused,
            _ => wait_of(&after, record.instance, self.reader.store())?,
        };
        met.snapshot = Some(after);
        Ok(entry)
    }

    fn meet(&self, record: &Record) -> Result<PlayedInstance, ViewError> {
        let row = self.reader.store().instance(record.instance)?;
        let row = row
            .ok_or_else(|| ViewError::Unreadable(format!("record #{} belongs to no instance", record.seq)))?;
        // The chart of that time: the instance may have been migrated since.
        let (chart, snapshot) = match record.kind {
            RecordKind::Started | RecordKind::Forked => {
                (self.reader.snapshot(&row, Some(record.step))?.chart, None)
            }
            RecordKind::Stepped | RecordKind::Ignored | RecordKind::Failed | RecordKind::Migrated => {
                let before = self.reader.snapshot(&row, Some(record.step.saturating_sub(1)))?;
                (before.chart, Some(before.snapshot))
            }
        };
        Ok(PlayedInstance { row, chart, snapshot, earlier: None, lists: ListReader::default() })
    }
}

/// The event of a record.
pub(super) enum PlayedEvent {
    /// The delivery that the step took, or the reason why it cannot be read.
    Delivery(Result<Event, String>),
    /// Of the beginning of an instance and of a migration, as JSON.
    Text(String),
}

impl PlayedEvent {
    fn of(record: &Record, reader: &SnapshotReader, lists: &mut ListReader) -> Result<Self, ViewError> {
        match record.kind {
            RecordKind::Started | RecordKind::Forked | RecordKind::Migrated => {
                Ok(PlayedEvent::Text(reader.unpack(&record.event)?))
            }
            RecordKind::Stepped | RecordKind::Ignored | RecordKind::Failed => {
                let short = reader.shorten(&record.event, lists)?;
                if let Ok(mut event) = serde_json::from_str::<Event>(short.text()) {
                    event.for_each_value(|value| short.restore(value));
                    if short.is_restored() {
                        return Ok(PlayedEvent::Delivery(Ok(event)));
                    }
                }
                let event = serde_json::from_str(&reader.unpack(&record.event)?);
                Ok(PlayedEvent::Delivery(event.map_err(|error| error.to_string())))
            }
        }
    }

    /// Returns the JSON of an event that is not a delivery.
    pub(super) fn text(&self) -> &str {
        match self {
            PlayedEvent::Text(text) => text,
            PlayedEvent::Delivery(_) => "null",
        }
    }
}

/// Returns the effects of a record; none if they cannot be read.
fn effects_of(
    record: &Record,
    reader: &SnapshotReader,
    lists: &mut ListReader,
) -> Result<Vec<Effect>, ViewError> {
    let short = reader.shorten(&record.effects, lists)?;
    if short.has_lists()
        && let Ok(mut effects) = serde_json::from_str::<Vec<Effect>>(short.text())
    {
        effects.iter_mut().for_each(|effect| effect.for_each_value(|value| short.restore(value)));
        if short.is_restored() {
            return Ok(effects);
        }
    }
    Ok(serde_json::from_str(&reader.unpack(&record.effects)?).unwrap_or_default())
}

/// One record between the snapshots before and after it.
struct PlayedRecord<'a> {
    met: &'a PlayedInstance,
    before: Option<&'a Snapshot>,
    after: &'a Snapshot,
    event: &'a PlayedEvent,
    is_migration: bool,
}

impl PlayedRecord<'_> {
    fn entry(&self, record: &Record, effects: Vec<Effect>, refusal: Option<String>) -> JournalEntry {
        let chart = &self.met.chart;
        JournalEntry {
            seq: record.seq,
            instance: Arc::clone(&self.met.row.new.id),
            chart: Arc::clone(&self.met.row.new.chart_id),
            agent: self.met.row.new.agent(),
            step: record.step,
            at_ms: record.at_ms,
            kind: record.kind,
            what: self.what(record),
            configuration: chart.leaf_paths(self.after.configuration()).map(str::to_owned).collect(),
            changes: self.changes(),
            effects: effects.into_iter().map(|effect| self.told(effect)).collect(),
            status: self.after.status(),
            status_changed: self.before.map_or_else(
                || self.after.status() != rawko_core::Status::Active,
                |before| before.status() != self.after.status(),
            ),
            output: self.after.output().clone(),
            refusal,
            wait: WaitReason::Nothing,
            moves: Moves::default(),
            story: Vec::new(),
        }
    }

    fn what(&self, record: &Record) -> EntryBody {
        let value = || serde_json::from_str::<Value>(self.event.text()).unwrap_or_default();
        let new = &self.met.row.new;
        match record.kind {
            RecordKind::Started => EntryBody::Started {
                chart: self.met.chart.id().to_owned(),
                version: self.met.chart.version().to_owned(),
                parent: new.parent.as_ref().map(|parent| Arc::clone(&parent.id)),
                input: value(),
            },
            RecordKind::Forked => EntryBody::Forked {
                from: new.origin.as_ref().map(|origin| (Arc::clone(&origin.id), origin.step)),
                edits: value(),
            },
            RecordKind::Migrated => match serde_json::from_str::<MigrationRecord>(self.event.text()) {
                Ok(MigrationRecord { by, from, to, back, .. }) => EntryBody::Migrated {
                    by,
                    from: (from.chart, from.version),
                    to: (to.chart, to.version),
                    back,
                },
                Err(error) => EntryBody::Unreadable(error.to_string()),
            },
            RecordKind::Stepped | RecordKind::Ignored | RecordKind::Failed => match self.event {
                PlayedEvent::Delivery(Ok(event)) => self.delivered(event.clone()),
                PlayedEvent::Delivery(Err(why)) | PlayedEvent::Text(why) => {
                    EntryBody::Unreadable(why.clone())
                }
            },
        }
    }

    fn delivered(&self, event: Event) -> EntryBody {
        match event {
            Event::Named(NamedEvent { name, data, origin, .. }) => EntryBody::Event { name, data, origin },
            Event::TimerFired { timer } => EntryBody::Timer(self.fired(timer)),
            Event::InvokeDone { invocation, data } => {
                EntryBody::Answered { invoke: self.invoke_name(invocation), data }
            }
            Event::InvokeFailed { invocation, error } => {
                EntryBody::CallFailed { invoke: self.invoke_name(invocation), error }
            }
            Event::RetryRequested => EntryBody::Retried { item: None },
            Event::ItemRetryRequested { item } => EntryBody::Retried { item: Some(item.to_string()) },
            Event::CancelRequested { reason } => EntryBody::Cancelled { reason },
            Event::PauseRequested { by } => EntryBody::Paused { by },
            Event::ResumeRequested { by, paused_ms } => EntryBody::Resumed { by, paused_ms },
        }
    }

    fn fired(&self, id: u64) -> String {
        let pending = self.before.and_then(|before| before.timers().iter().find(|timer| timer.id == id));
        match (pending, self.before) {
            (Some(timer), Some(before)) => words::timer(&self.met.chart, before, timer).purpose,
            _ => "a timer that is no longer pending".to_owned(),
        }
    }

    /// Returns the chart's id of an invoke: that of a running invocation, or of the one that failed.
    fn invoke_name(&self, id: u64) -> String {
        let known = |snapshot: &Snapshot| words::invoke_name(&self.met.chart, snapshot, id);
        let name = self.before.and_then(known).or_else(|| known(self.after));
        name.unwrap_or_else(|| "a call that is no longer pending".to_owned())
    }

    fn changes(&self) -> Vec<ContextChange> {
        let after = self.after.context_map(&self.met.chart);
        // The snapshot before a migration has the keys of the earlier chart.
        let earlier = self.met.earlier.as_ref().filter(|_| self.is_migration);
        let chart = earlier.unwrap_or(&self.met.chart);
        let before = self.before.map(|before| before.context_map(chart));
        let entries = after.as_map().into_iter().flatten();
        let changed = entries.filter_map(|(key, value)| {
            let is_new = |before: &Value| {
                self.is_migration && before.as_map().is_some_and(|map| !map.contains_key(key))
            };
            let was = before.as_ref().filter(|before| !is_new(before)).map(|before| before.get(key).clone());
            let same = was.as_ref().is_some_and(|was| was.is_identical(value));
            (!same).then(|| ContextChange { key: Arc::clone(key), before: was, after: value.clone() })
        });
        changed.collect()
    }

    fn told(&self, effect: Effect) -> EntryEffect {
        let timer = match &effect {
            Effect::SetTimer { timer, .. } => self.after.timers().iter().find(|known| known.id == *timer),
            Effect::CancelTimer { .. }
            | Effect::Invoke(_)
            | Effect::StopInvoke { .. }
            | Effect::Send(_)
            | Effect::Emit { .. }
            | Effect::Call { .. }
            | Effect::Log { .. }
            | Effect::Fault(_)
            | Effect::Complete { .. }
            | Effect::Cancelled { .. }
            | Effect::Stall { .. } => None,
        };
        let timer = timer.map(|timer| words::timer(&self.met.chart, self.after, timer));
        EntryEffect { effect, timer }
    }
}

/// Returns what an instance waits for. Only the open effects show whether an agent is played by a person.
fn wait_of(after: &Snapshot, key: InstanceKey, store: &Arc<dyn Store>) -> Result<WaitReason, ViewError> {
    let running: Vec<Invocation> = after.pending().collect();
    let class = |src: &str| ServiceName::of(src).class;
    if after.status().is_over() {
        return Ok(WaitReason::Nothing);
    }
    if running.iter().any(|known| class(&known.src) == ServiceClass::Human) {
        return Ok(WaitReason::Person);
    }
    if running.iter().any(|known| class(&known.src) == ServiceClass::Agent) {
        let is_asked = |kind: EffectKind| kind == EffectKind::Person;
        let asked = store.open_effects(Some(key))?.iter().any(|effect| is_asked(effect.kind));
        return Ok(if asked { WaitReason::Person } else { WaitReason::Work });
    }
    Ok(match (running.is_empty(), after.next_timer()) {
        (false, _) => WaitReason::Work,
        (true, Some(_)) => WaitReason::Timer,
        (true, None) => WaitReason::Event,
    })
}

fn no_beginning(row: &InstanceRow) -> ViewError {
    ViewError::Unreadable(format!("the journal of `{}` has no start record", row.new.id))
}

fn unreadable(row: &InstanceRow, why: &dyn std::fmt::Display) -> ViewError {
    ViewError::Unreadable(format!("cannot read the journal of `{}`: {why}", row.new.id))
}
