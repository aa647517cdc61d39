//! Migration of stored instances to another chart: which mapping holds for which instance, the dry run, and the order to
//! the driver. `rawko_instance` defines the image itself.

use std::sync::Arc;

use rawko_chart::render::{self, ReportStyle};
use rawko_chart::{MigrationEntry, Severity, SourceFile, migration_of_file, migrations_of_chart};
use rawko_core::{Chart, Migration, Now, Value, World};
use rawko_instance::{Input, MigrationMove, MigrationRecord, MigrationRequest, image, refused_events};
use rawko_store::{InstanceRow, OpenEffect, RecordKind, WaitReason};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::error::HostError;
use crate::host::Host;
use crate::library::Edition;
use crate::reader::{RestoredSnapshot, SnapshotReader};

/// Migrations in flight at the same time: they share commits.
const IN_FLIGHT: usize = 512;

/// The outcome of a migration, or of its dry run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigrationReport {
    /// Instance id.
    pub id: String,
    /// Outcome for this instance.
    pub verdict: MigrationVerdict,
    /// Innermost active states: of the image, or of the unchanged instance if it is refused.
    pub configuration: Vec<String>,
    /// Why it is refused.
    pub reasons: Vec<String>,
    /// Consequences that a person should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The verdict about one instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MigrationVerdict {
    /// A dry run found no obstacle.
    Possible,
    /// The target chart cannot take over the instance; nothing changed.
    Refused,
    /// Done now, or before.
    Migrated,
}

/// The order to migrate instances.
#[derive(Clone, Debug)]
pub enum MigrationOrder {
    /// To this chart.
    To(Arc<Migrator>),
    /// To the chart before the last migration.
    Back,
}

/// A target chart with its mappings.
#[derive(Debug)]
pub struct Migrator {
    edition: Edition,
    entries: Vec<MigrationEntry>,
    map: Option<Migration>,
    /// Name and text of the map file.
    map_text: Option<(String, String)>,
}

impl Migrator {
    /// Reads the `migrations:` of a chart and the text of a map file (its name and content).
    pub fn new(edition: Edition, map: Option<(&str, &str)>) -> Result<Migrator, HostError> {
        let source = SourceFile::new(&*edition.name, &*edition.text);
        let (entries, findings) = migrations_of_chart(&source, &edition.chart);
        refuse_errors(&source, &findings)?;
        let map_text = map.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let map = match map {
            Some((name, text)) => {
                let source = SourceFile::new(name, text);
                let (migration, findings) = migration_of_file(&source, &edition.chart);
                refuse_errors(&source, &findings)?;
                migration
            }
            None => None,
        };
        Ok(Migrator { edition, entries, map, map_text })
    }

    /// Returns the target chart.
    pub fn chart(&self) -> &Arc<Chart> {
        &self.edition.chart
    }

    /// Returns the name and text of the map file.
    pub fn map_text(&self) -> Option<&(String, String)> {
        self.map_text.as_ref()
    }

    /// Returns the target chart with its source text.
    pub fn edition(&self) -> &Edition {
        &self.edition
    }

    /// Returns the mapping from a version of a chart: that of the map file, then that of the target chart.
    pub fn migration(&self, chart: &str, version: &str) -> Arc<Migration> {
        let is_same = chart == self.chart().id();
        let entry = self.entries.iter().find(|entry| is_same && entry.covers(version));
        match (&self.map, entry) {
            (Some(map), Some(entry)) => Arc::new(map.over(&entry.migration)),
            (Some(map), None) => Arc::new(map.clone()),
            (None, Some(entry)) => Arc::clone(&entry.migration),
            (None, None) => Arc::default(),
        }
    }

    /// Returns the names in the map file that none of these charts has, each with its kind.
    pub fn unknown_names(&self, sources: &[Arc<Chart>]) -> Vec<String> {
        let Some(map) = &self.map else { return Vec::new() };
        let has_state = |name: &str| {
            sources.iter().any(|chart| {
                chart.find(name).is_some() || chart.node_ids().any(|node| *chart.node(node).name == *name)
            })
        };
        let has_invoke = |name: &str| {
            let of = |chart: &Arc<Chart>| {
                chart.node_ids().any(|node| chart.invokes_of(node).any(|(_, id)| **id == *name))
            };
            sources.iter().any(of)
        };
        let states =
            map.states.iter().map(|(name, _)| name).chain(map.timers.iter().map(|timer| &timer.state));
        let states = states.filter(|name| !has_state(name)).map(|name| format!("state `{name}`"));
        let invokes = map.invokes.iter().filter(|(name, _)| !has_invoke(name));
        states.chain(invokes.map(|(name, _)| format!("invoke `{name}`"))).collect()
    }

    /// Returns the reason why instances of another chart are not migrated without a map.
    pub fn refuse_other(&self, from: &str) -> Option<String> {
        let to = self.chart().id();
        (from != to && self.map.is_none())
            .then(|| format!("it is an instance of `{from}`, not of `{to}`; pass a map to change the chart"))
    }

    /// Judges instances without touching them.
    pub fn preview(
        &self,
        reader: &SnapshotReader,
        rows: &[InstanceRow],
        world: &World,
        now_ms: i64,
    ) -> Result<Vec<MigrationReport>, HostError> {
        let restored = reader.snapshots(rows)?;
        let mut reports = Vec::with_capacity(rows.len());
        for (row, restored) in rows.iter().zip(restored) {
            // Only a paused instance holds events outside its snapshot.
            let held = match row.head.wait {
                WaitReason::Paused => reader.store().open_effects(Some(row.key))?,
                _ => Vec::new(),
            };
            reports.push(self.preview_one(row, restored.as_ref(), &held, world, now_ms));
        }
        Ok(reports)
    }

    fn preview_one(
        &self,
        row: &InstanceRow,
        restored: Option<&RestoredSnapshot>,
        held: &[OpenEffect],
        world: &World,
        now_ms: i64,
    ) -> MigrationReport {
        let id = row.new.id.to_string();
        let Some(restored) = restored else {
            let reasons = vec!["its stored snapshot cannot be read; see `rawko doctor`".to_owned()];
            let (verdict, configuration) = (MigrationVerdict::Refused, Vec::new());
            return MigrationReport { id, verdict, configuration, reasons, notes: Vec::new() };
        };
        let (chart, snapshot) = (&restored.chart, &restored.snapshot);
        let current = || configuration(restored);
        let report = |verdict, configuration, reasons, notes| MigrationReport {
            id: id.clone(),
            verdict,
            configuration,
            reasons,
            notes,
        };
        if chart.hash() == self.chart().hash() {
            let notes = vec!["it is on this chart already".to_owned()];
            return report(MigrationVerdict::Migrated, current(), Vec::new(), notes);
        }
        if let Some(reason) = self.refuse_other(&row.new.chart_id) {
            return report(MigrationVerdict::Refused, current(), vec![reason], Vec::new());
        }
        let facts = row.new.facts();
        let migration = self.migration(chart.id(), chart.version());
        let now = Now::new(now_ms, world).of(&facts);
        match image((chart, self.chart()), &migration, snapshot, now) {
            Ok(_) if !held.is_empty() && !refused_events(held, self.chart(), &migration).is_empty() => {
                let reasons = refused_events(held, self.chart(), &migration);
                report(MigrationVerdict::Refused, current(), reasons, Vec::new())
            }
            Ok(image) => {
                let configuration = image.configuration(self.chart());
                report(MigrationVerdict::Possible, configuration, Vec::new(), image.notes)
            }
            Err(reasons) => report(MigrationVerdict::Refused, current(), reasons, Vec::new()),
        }
    }
}

fn refuse_errors(source: &SourceFile, findings: &[rawko_chart::Finding]) -> Result<(), HostError> {
    let errors: Vec<_> =
        findings.iter().filter(|finding| finding.severity >= Severity::Error).cloned().collect();
    match errors.is_empty() {
        true => Ok(()),
        false => Err(HostError::InvalidChart(render::report(&errors, source, ReportStyle { color: false }))),
    }
}

fn configuration(restored: &RestoredSnapshot) -> Vec<String> {
    restored.chart.leaf_paths(restored.snapshot.configuration()).map(str::to_owned).collect()
}

impl Host {
    /// Migrates instances, each in a transaction of its own, and reports on each. None of them is driven by this.
    pub async fn migrate(
        &self,
        ids: Vec<String>,
        order: MigrationOrder,
        by: Value,
    ) -> Result<Vec<MigrationReport>, HostError> {
        if let MigrationOrder::To(migrator) = &order {
            self.inner.keep(migrator.edition(), self.inner.clock.now_ms())?;
        }
        let mut reports: Vec<Option<MigrationReport>> = vec![None; ids.len()];
        let mut tasks = JoinSet::new();
        let mut ids = ids.into_iter().enumerate();
        loop {
            while tasks.len() < IN_FLIGHT
                && let Some((at, id)) = ids.next()
            {
                let (host, order, by) = (self.clone(), order.clone(), by.clone());
                tasks.spawn(async move { (at, host.migrate_one(&id, &order, by).await) });
            }
            match tasks.join_next().await {
                Some(Ok((at, report))) => reports[at] = Some(report?),
                Some(Err(_)) => return Err(HostError::Closing),
                None => return Ok(reports.into_iter().flatten().collect()),
            }
        }
    }

    async fn migrate_one(
        &self,
        id: &str,
        order: &MigrationOrder,
        by: Value,
    ) -> Result<MigrationReport, HostError> {
        let inner = &self.inner;
        let row = inner.reader.find(id)?;
        let is_driven = inner.drives_key(row.key);
        let request = match order {
            MigrationOrder::To(migrator) => migrator.refuse_other(&row.new.chart_id).map_or_else(
                || {
                    let migration = migrator.migration(&row.new.chart_id, &row.new.version);
                    let to = Arc::clone(migrator.chart());
                    Ok(MigrationRequest { to, move_by: MigrationMove::Mapped(migration), by, is_driven })
                },
                Err,
            ),
            MigrationOrder::Back => way_back(&inner.reader, &row, by, is_driven)?,
        };
        let reasons = match request {
            Err(reason) => vec![reason],
            Ok(request) => match inner.post_and_wait(row.key, Input::Migrate(Box::new(request))).await {
                Ok(_) => Vec::new(),
                Err(HostError::MigrationRefused { reasons, .. }) => reasons,
                Err(error @ HostError::Over { .. }) => vec![error.to_string()],
                Err(error) => return Err(error),
            },
        };
        let configuration = {
            let slot = inner.slot(row.key)?;
            let live = slot.lock();
            let chart = live.machine.chart();
            chart.leaf_paths(live.machine.snapshot().configuration()).map(str::to_owned).collect()
        };
        let verdict = if reasons.is_empty() { MigrationVerdict::Migrated } else { MigrationVerdict::Refused };
        Ok(MigrationReport { id: id.to_owned(), verdict, configuration, reasons, notes: Vec::new() })
    }
}

/// Returns the order to undo the last record of an instance, or the reason why it cannot be undone.
pub fn way_back(
    reader: &SnapshotReader,
    row: &InstanceRow,
    by: Value,
    is_driven: bool,
) -> Result<Result<MigrationRequest, String>, HostError> {
    let records = reader.store().steps(row.key, row.step..=row.step, usize::MAX)?;
    let last = records.iter().find(|record| record.kind == RecordKind::Migrated);
    let Some(record) = last else {
        return Ok(Err(
            "its last step is not a migration; only a migration without a later step can be undone"
                .to_owned(),
        ));
    };
    let text = reader.unpack(&record.event)?;
    let Ok(done) = serde_json::from_str::<MigrationRecord>(&text) else {
        return Ok(Err("the record of its migration cannot be read".to_owned()));
    };
    if done.back {
        return Ok(Err("its last migration was undone already".to_owned()));
    }
    let before = reader.snapshot(row, Some(row.step.saturating_sub(1)))?;
    let snapshot = Box::new(before.snapshot);
    let move_by = MigrationMove::Back { snapshot, ended: done.ended, step: row.step };
    Ok(Ok(MigrationRequest { to: before.chart, move_by, by, is_driven }))
}
