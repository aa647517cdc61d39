//! Replays the journal of an instance on the new chart, to show where it would have gone another way.

use std::sync::Arc;

use rawko_core::{Chart, Event, Migration, NodeId, Now, Snapshot, World, start, step};
use rawko_host::{Migrator, SnapshotReader};
use rawko_store::{InstanceRow, Record, RecordKind};
use serde_json::{Value as Json, json};

use crate::console::{Console, TextStyle};
use crate::failure::CommandFailure;

/// The first difference of one instance.
pub(super) struct MigrationReplay {
    id: String,
    /// Steps of the journal that were replayed.
    steps: usize,
    difference: Option<ReplayDifference>,
}

struct ReplayDifference {
    step: u64,
    event: String,
    /// What happened.
    old: Vec<String>,
    /// What would have happened.
    new: Vec<String>,
    why: Option<String>,
}

pub(super) fn replay(
    reader: &SnapshotReader,
    row: &InstanceRow,
    migrator: &Migrator,
    world: &World,
) -> Result<MigrationReplay, CommandFailure> {
    let id = row.new.id.to_string();
    let records = reader.store().records(row.key, 0, usize::MAX)?;
    let mut replay = MigrationReplay { id, steps: 0, difference: None };
    let mut past: Option<Past<'_>> = None;
    for record in &records {
        let event = reader.unpack(&record.event)?;
        match record.kind {
            RecordKind::Started => {
                let old = reader.snapshot(row, Some(record.step))?;
                let facts = row.new.facts();
                let now = Now::new(record.at_ms, world).of(&facts);
                let input = serde_json::from_str(&event).unwrap_or_default();
                let new = match start(migrator.chart(), input, now) {
                    Ok((new, _)) => new,
                    Err(error) => {
                        replay.difference =
                            Some(ReplayDifference::failed(record, "start", &error.to_string()));
                        return Ok(replay);
                    }
                };
                let migration = migrator.migration(old.chart.id(), old.chart.version());
                past = Some(Past { old: old.snapshot, chart: old.chart, new, migration, migrator, world });
            }
            RecordKind::Stepped | RecordKind::Ignored => {
                let delta = reader.unpack(&record.delta)?;
                if let Some(past) = &mut past {
                    replay.difference = past.step(record, &event, &delta, row);
                }
            }
            RecordKind::Failed => continue,
            // A fork has no beginning here, and after a migration the journal is that of another chart.
            RecordKind::Forked | RecordKind::Migrated => break,
        }
        if past.is_none() {
            break;
        }
        replay.steps += 1;
        if replay.difference.is_none()
            && let Some(past) = &past
        {
            replay.difference = past.compare(record, &event);
        }
        if replay.difference.is_some() {
            break;
        }
    }
    Ok(replay)
}

/// The same journal on both charts.
struct Past<'p> {
    old: Snapshot,
    chart: Arc<Chart>,
    new: Snapshot,
    migration: Arc<Migration>,
    migrator: &'p Migrator,
    world: &'p World,
}

impl Past<'_> {
    /// Takes one step on both charts. A fired timer is the next one of the new chart.
    fn step(
        &mut self,
        record: &Record,
        event: &str,
        delta: &str,
        row: &InstanceRow,
    ) -> Option<ReplayDifference> {
        let facts = row.new.facts();
        let now = Now::new(record.at_ms, self.world).of(&facts);
        let recorded = serde_json::from_str::<Event>(event).ok()?;
        let translated = self.translated(&recorded);
        if let Err(error) = self.old.apply_delta_json(&self.chart, delta) {
            return Some(ReplayDifference::failed(record, event, &error.to_string()));
        }
        let taken = step(self.migrator.chart(), &mut self.new, translated?, now);
        taken.err().map(|error| ReplayDifference::failed(record, event, &error.to_string()))
    }

    /// Returns the event with the ids of the new instance; `None` if it concerns nothing there.
    fn translated(&self, event: &Event) -> Option<Event> {
        let heir = |id: u64| {
            let open = self.old.invocation(id)?;
            let name = self.chart.invoke_name(open.invoke);
            let mapped = self.migration.invokes.iter().find(|(old, _)| **old == *name);
            let name = mapped.map_or(Some(name), |(_, heir)| heir.as_deref())?;
            let new = self.migrator.chart();
            let mut pending = self.new.pending();
            pending.find(|known| new.invoke_name(known.invoke) == name && known.item == open.item)
        };
        Some(match event {
            Event::InvokeDone { invocation, data } => {
                Event::InvokeDone { invocation: heir(*invocation)?.id, data: data.clone() }
            }
            Event::InvokeFailed { invocation, error } => {
                Event::InvokeFailed { invocation: heir(*invocation)?.id, error: error.clone() }
            }
            Event::TimerFired { .. } => Event::TimerFired { timer: self.new.next_timer()?.id },
            other => other.clone(),
        })
    }

    /// Compares where both charts are.
    fn compare(&self, record: &Record, event: &str) -> Option<ReplayDifference> {
        let chart = self.migrator.chart();
        let expected = |leaf: &NodeId| self.expected(&self.chart.node(*leaf).path);
        let active = chart.active(self.new.configuration());
        let is_same =
            self.old.configuration().frontier().iter().all(|leaf| {
                expected(leaf).is_some_and(|nodes| nodes.iter().any(|node| active.contains(*node)))
            });
        let is_same = is_same && self.old.status() == self.new.status();
        (!is_same).then(|| ReplayDifference {
            step: record.step,
            event: title(event),
            old: self.chart.leaf_paths(self.old.configuration()).map(str::to_owned).collect(),
            new: chart.leaf_paths(self.new.configuration()).map(str::to_owned).collect(),
            why: None,
        })
    }

    /// Returns the states that an old state may have become: mapped, below a mapped parent, or of the same path.
    fn expected(&self, path: &str) -> Option<Vec<NodeId>> {
        let chart = self.migrator.chart();
        let mut best: Option<(usize, Vec<NodeId>)> = None;
        for (name, image) in &self.migration.states {
            let rest = path.strip_prefix(&**name);
            let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('.')) else { continue };
            let tops = image.branches.iter().flat_map(|branch| &branch.targets);
            let nodes = tops.filter_map(|top| match rest.is_empty() {
                true => Some(*top),
                false => chart.find(&format!("{}{rest}", chart.node(*top).path)),
            });
            let nodes: Vec<NodeId> = nodes.collect();
            if best.as_ref().is_none_or(|(length, _)| name.len() > *length) {
                best = Some((name.len(), nodes));
            }
        }
        best.map(|(_, nodes)| nodes).or_else(|| chart.find(path).map(|node| vec![node]))
    }
}

impl ReplayDifference {
    fn failed(record: &Record, event: &str, why: &str) -> ReplayDifference {
        let why = Some(why.to_owned());
        ReplayDifference { step: record.step, event: title(event), old: Vec::new(), new: Vec::new(), why }
    }
}

/// Returns the name of an event, or its kind.
fn title(event: &str) -> String {
    match serde_json::from_str::<Event>(event) {
        Ok(Event::Named(event)) => event.name.to_string(),
        Ok(Event::TimerFired { .. }) => "a timer".to_owned(),
        Ok(Event::InvokeDone { .. }) => "a result".to_owned(),
        Ok(Event::InvokeFailed { .. }) => "a failure".to_owned(),
        Ok(_) => "a request".to_owned(),
        Err(_) => "start".to_owned(),
    }
}

impl MigrationReplay {
    pub(super) fn to_json(&self) -> Json {
        let difference = self.difference.as_ref().map(
            |it| json!({"step": it.step, "event": it.event, "old": it.old, "new": it.new, "why": it.why}),
        );
        json!({"id": self.id, "steps": self.steps, "difference": difference})
    }

    pub(super) fn print(&self, console: &mut Console) -> Result<(), CommandFailure> {
        let id = &self.id;
        let text = match &self.difference {
            None => format!("{id}: the same way in all {} steps", self.steps),
            Some(ReplayDifference { step, event, why: Some(why), .. }) => {
                format!("{id}: step {step} ({event}) fails on the new chart: {why}")
            }
            Some(ReplayDifference { step, event, old, new, .. }) => {
                let (old, new) = (old.join(", "), new.join(", "));
                format!("{id}: step {step} ({event}) led to {old}; on the new chart to {new}")
            }
        };
        let style = if self.difference.is_none() { TextStyle::Dim } else { TextStyle::Notice };
        console.note(style, "replay", &text);
        Ok(())
    }
}
