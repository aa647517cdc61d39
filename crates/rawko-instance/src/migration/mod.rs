//! The image of an instance in another chart: every part of its snapshot is mapped, or the reasons why it cannot be are
//! listed. Pure, so that a dry run, a proof and the migration itself are the same function.

mod arriving;
mod context;
mod counterparts;
mod history;
mod request;
mod states;
mod work;

use std::sync::Arc;

use rawko_core::{
    Chart, Effect, InvokeId, Migration, NodeId, NodeKind, Now, Snapshot, SnapshotParts, start_work,
};

pub use arriving::refused_events;
pub(crate) use arriving::{Arrival, held_events};
use counterparts::Counterparts;
pub use request::{ChartName, MigrationMove, MigrationRecord, MigrationRequest};
use states::StateMap;

/// An instance as it continues in the new chart.
#[derive(Clone, Debug)]
pub struct MigratedInstance {
    /// The snapshot in the new chart, one step later.
    pub snapshot: Snapshot,
    /// Calls and timers that end or start with the migration.
    pub effects: Vec<Effect>,
    /// Consequences that a person should know: states entered by default, dropped keys, started calls.
    pub notes: Vec<String>,
    /// Old and new paths of states that correspond, for the budgets of states.
    pub(crate) renamed: Vec<(Arc<str>, Arc<str>)>,
}

impl MigratedInstance {
    /// Returns the innermost active states of the new chart.
    pub fn configuration(&self, chart: &Chart) -> Vec<String> {
        chart.leaf_paths(self.snapshot.configuration()).map(str::to_owned).collect()
    }
}

/// Computes the image of a snapshot, or the reasons why there is none.
pub fn image(
    (old, new): (&Chart, &Chart),
    migration: &Migration,
    snapshot: &Snapshot,
    now: Now<'_>,
) -> Result<MigratedInstance, Vec<String>> {
    if snapshot.status().is_over() {
        return Err(vec![format!("it has ended ({})", snapshot.status().as_str())]);
    }
    let mut job = MigrationJob::new((old, new), migration, snapshot, now);
    let parts = job.parts();
    match parts {
        Some(parts) if job.reasons.is_empty() => job.finished(parts),
        _ => Err(job.reasons),
    }
}

/// One migration in progress.
struct MigrationJob<'j> {
    old: &'j Chart,
    new: &'j Chart,
    migration: &'j Migration,
    snapshot: &'j Snapshot,
    now: Now<'j>,
    states: StateMap<'j>,
    reasons: Vec<String>,
    notes: Vec<String>,
    effects: Vec<Effect>,
    missing: MissingWork,
}

/// Timers and invokes of active states that the old chart did not have.
#[derive(Debug, Default)]
struct MissingWork {
    timers: Vec<(NodeId, u32)>,
    invokes: Vec<(NodeId, InvokeId)>,
    renamed: Vec<(Arc<str>, Arc<str>)>,
}

impl<'j> MigrationJob<'j> {
    fn new(
        (old, new): (&'j Chart, &'j Chart),
        migration: &'j Migration,
        snapshot: &'j Snapshot,
        now: Now<'j>,
    ) -> Self {
        Self {
            old,
            new,
            migration,
            snapshot,
            now,
            states: StateMap::new((old, new), migration, snapshot, now),
            reasons: Vec::new(),
            notes: Vec::new(),
            effects: Vec::new(),
            missing: MissingWork::default(),
        }
    }

    fn refuse(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
    }

    /// Maps every part. Later parts are mapped even if an earlier one cannot be, so that all reasons are known at once.
    fn parts(&mut self) -> Option<SnapshotParts> {
        let mut parts = self.snapshot.to_parts();
        parts.step += 1;
        parts.context = self.context();
        parts.history = self.history(&parts.history);
        self.deferred(&mut parts.deferred);
        let configuration = self.states.configuration(&mut self.reasons);
        let Some(configuration) = configuration else {
            self.work_without_states(&parts);
            return None;
        };
        self.note_defaults(&configuration);
        self.refuse_new_finals(&configuration);
        let pairs = Counterparts::new(self.old, self.new, self.migration, &self.states, &configuration);
        self.work(&mut parts, &pairs);
        self.missing = pairs.missing();
        parts.configuration = configuration;
        Some(parts)
    }

    /// A final state that no final state of the old chart becomes would end the instance without a step.
    fn refuse_new_finals(&mut self, configuration: &rawko_core::Configuration) {
        let leaves = self.snapshot.configuration().frontier().iter();
        let finals = leaves.filter(|leaf| self.old.node(**leaf).kind == NodeKind::Final);
        let were_final: Vec<NodeId> = finals.flat_map(|leaf| self.states.image(*leaf)).collect();
        for leaf in configuration.frontier() {
            if self.new.node(*leaf).kind == NodeKind::Final && !were_final.contains(leaf) {
                let path = &self.new.node(*leaf).path;
                self.refuse(format!(
                    "`{path}` is final in the new chart: the instance would be done without a step; map it to another state"
                ));
            }
        }
    }

    fn note_defaults(&mut self, configuration: &rawko_core::Configuration) {
        let leaves = self.snapshot.configuration().frontier().iter();
        let images: Vec<NodeId> = leaves.flat_map(|leaf| self.states.image(*leaf)).collect();
        for leaf in configuration.frontier() {
            if !images.contains(leaf) {
                self.notes.push(format!("enters `{}` by default", self.new.node(*leaf).path));
            }
        }
    }

    fn finished(mut self, parts: SnapshotParts) -> Result<MigratedInstance, Vec<String>> {
        let mut snapshot = Snapshot::from_parts(self.new, parts).map_err(|why| vec![why.to_string()])?;
        let MissingWork { timers, invokes, renamed } = std::mem::take(&mut self.missing);
        for (node, index) in &timers {
            let path = &self.new.node(*node).path;
            self.notes.push(format!("sets `{}` of `{path}` from now", self.new.timer_label(*node, *index)));
        }
        for (_, invoke) in &invokes {
            self.notes.push(format!("starts `{}`", self.new.invoke_name(*invoke)));
        }
        let started = start_work(self.new, &mut snapshot, &timers, &invokes, self.now);
        let step = started.map_err(|why| vec![format!("work of the new chart cannot start: {why}")])?;
        self.effects.extend(step.effects);
        Ok(MigratedInstance { snapshot, effects: self.effects, notes: self.notes, renamed })
    }
}
