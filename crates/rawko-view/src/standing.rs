//! Current state of an instance: pending requests, running work, accepted events, timers. Printed by `show`, by the
//! page, and by `run` when it parks.

use std::sync::Arc;

use rawko_core::{Chart, Now, Snapshot, TimerPurpose, Value, World};
use rawko_host::{RestoredSnapshot, SnapshotReader, Spent};
use rawko_store::{EffectKind, InstanceRow, OpenEffect};

use crate::error::ViewError;
use crate::journal::{Timer, words};
use crate::offers::{self, Offer};
use crate::rows;

/// An instance after a step.
pub struct InstanceStanding {
    /// The instance after its last step, also if this is a past step.
    pub row: InstanceRow,
    /// The chart in the version that the instance runs.
    pub chart: Arc<Chart>,
    /// Snapshot after the step.
    pub snapshot: Snapshot,
    /// Time of that step.
    pub at_ms: i64,
    /// Timers that are set after the step.
    pub timers: Vec<Timer>,
    /// Work that runs after the step, without requests to people in `asks`.
    pub running: Vec<RunningWork>,
    /// Pending requests of the instance and its descendants; empty for a past step.
    pub asks: Vec<PendingAsk>,
    /// Invoked instances, oldest first, including those of later steps.
    pub children: Vec<InstanceRow>,
    /// Events that the instance accepts after the step.
    pub offers: Vec<Offer>,
}

/// Work that currently runs for the instance.
#[derive(Clone, Debug)]
pub struct RunningWork {
    /// Id of the invoke; the name for a call or a send.
    pub invoke: String,
    /// Service, chart, agent or endpoint, as the chart names it.
    pub name: Arc<str>,
    /// Number of the attempt, from 1; `None` for a call or a send.
    pub attempt: Option<u32>,
    /// `None` for past steps.
    pub open: Option<OpenEffect>,
}

/// Pending request to a person.
#[derive(Clone, Debug)]
pub struct PendingAsk {
    /// Requesting instance: this one, or a descendant.
    pub instance: Arc<str>,
    /// Id of the invoke, which names the request in an answer.
    pub invoke: String,
    /// `title`, `prompt`, `form` and other keys from the chart.
    pub input: Value,
    /// Time of the request, in milliseconds since 1970 UTC.
    pub since_ms: i64,
    /// Time at which the request expires; `None` if it does not.
    pub expires_ms: Option<i64>,
}

/// Returns the requests of one instance, without its descendants.
pub fn asked(reader: &SnapshotReader, row: &InstanceRow) -> Result<Vec<PendingAsk>, ViewError> {
    let open = reader.store().open_effects(Some(row.key))?;
    let restored = reader.snapshot(row, None)?;
    Ok(asks_of(row, &restored.chart, &restored.snapshot, &open))
}

impl InstanceStanding {
    /// Reads the current state of an instance.
    pub fn of(
        reader: &SnapshotReader,
        id: &str,
        world: &World,
        now_ms: i64,
    ) -> Result<InstanceStanding, ViewError> {
        InstanceStanding::at(reader, id, None, world, now_ms)
    }

    /// Reads the state after the given step, or the current state.
    pub fn at(
        reader: &SnapshotReader,
        id: &str,
        step: Option<u64>,
        world: &World,
        now_ms: i64,
    ) -> Result<InstanceStanding, ViewError> {
        let (row, restored) = read(reader, id, step)?;
        let (chart, snapshot) = (restored.chart, restored.snapshot);
        let is_past = snapshot.step_number() < row.step;
        let open = if is_past { Vec::new() } else { reader.store().open_effects(Some(row.key))? };
        let timers = snapshot.timers().iter().map(|timer| words::timer(&chart, &snapshot, timer)).collect();
        let running = open.iter().filter(|effect| effect.kind != EffectKind::Person);
        let running = if is_past {
            ran(&chart, &snapshot)
        } else {
            running.map(|effect| running_of(&chart, &snapshot, effect)).collect()
        };
        let mut asks = asks_of(&row, &chart, &snapshot, &open);
        let children = reader.store().children(id)?;
        if !is_past {
            add_asks_below(reader, &children, &mut asks)?;
        }
        let facts = row.new.facts();
        let now = Now::new(if is_past { restored.at_ms } else { now_ms }, world).of(&facts);
        let offers = offers::in_snapshot(&chart, &snapshot, now);
        Ok(InstanceStanding {
            row,
            at_ms: restored.at_ms,
            timers,
            running,
            asks,
            children,
            offers,
            chart,
            snapshot,
        })
    }

    /// Returns the paths of the innermost active states.
    pub fn configuration(&self) -> Vec<&str> {
        self.chart.leaf_paths(self.snapshot.configuration()).collect()
    }

    /// Returns the usage of the instance and its descendants so far.
    pub fn spent(&self) -> Spent {
        let awaited = self.children.iter().filter(|child| rows::is_awaited(&self.row, &child.new.id));
        awaited.fold(rows::spent(&self.row), |sum, child| sum.plus(rows::spent(child)))
    }

    /// Returns the id of the instance.
    pub fn id(&self) -> &str {
        &self.row.new.id
    }
}

/// Reads of one instance until row and snapshot are of the same step.
const READS_MAX: usize = 8;

/// Reads the row and the snapshot of an instance. They are two reads: after a step between them, the row would not fit
/// the snapshot, and an instance that has just ended would have no outcome.
fn read(
    reader: &SnapshotReader,
    id: &str,
    step: Option<u64>,
) -> Result<(InstanceRow, RestoredSnapshot), ViewError> {
    let mut reads = 0;
    loop {
        let row = reader.find(id)?;
        let restored = reader.snapshot(&row, step)?;
        reads += 1;
        if step.is_some() || restored.snapshot.step_number() == row.step || reads == READS_MAX {
            return Ok((row, restored));
        }
    }
}

fn running_of(chart: &Chart, snapshot: &Snapshot, effect: &OpenEffect) -> RunningWork {
    let known = effect.invocation.and_then(|id| snapshot.invocation(id));
    let invoke =
        known.as_ref().map_or_else(|| Arc::clone(&effect.name), |known| chart.invocation_name(known));
    RunningWork {
        invoke: invoke.to_string(),
        name: Arc::clone(&effect.name),
        attempt: known.map(|known| known.attempt),
        open: Some(effect.clone()),
    }
}

/// Returns the work that ran after a past step, according to the snapshot.
fn ran(chart: &Chart, snapshot: &Snapshot) -> Vec<RunningWork> {
    let running = snapshot.pending().map(|known| RunningWork {
        invoke: chart.invocation_name(&known).to_string(),
        name: Arc::clone(&known.src),
        attempt: Some(known.attempt),
        open: None,
    });
    running.collect()
}

fn asks_of(row: &InstanceRow, chart: &Chart, snapshot: &Snapshot, open: &[OpenEffect]) -> Vec<PendingAsk> {
    let people = open.iter().filter(|effect| effect.kind == EffectKind::Person);
    let asks = people.filter_map(|effect| {
        let known = snapshot.invocation(effect.invocation?)?;
        Some(PendingAsk {
            instance: Arc::clone(&row.new.id),
            invoke: chart.invocation_name(&known).to_string(),
            input: known.input.clone(),
            since_ms: effect.opened_ms,
            expires_ms: effect.due_ms,
        })
    });
    asks.collect()
}

/// A parent also waits for the requests of its descendants.
fn add_asks_below(
    reader: &SnapshotReader,
    children: &[InstanceRow],
    asks: &mut Vec<PendingAsk>,
) -> Result<(), ViewError> {
    for child in children.iter().filter(|child| !child.head.status.is_over()) {
        let open = reader.store().open_effects(Some(child.key))?;
        if open.iter().any(|effect| effect.kind == EffectKind::Person) {
            let restored = reader.snapshot(child, None)?;
            asks.extend(asks_of(child, &restored.chart, &restored.snapshot, &open));
        }
        add_asks_below(reader, &reader.store().children(&child.new.id)?, asks)?;
    }
    Ok(())
}

/// Returns the time of the next retry of a call, in an instance or its descendants.
pub fn next_retry_ms(reader: &SnapshotReader, id: &str) -> Result<Option<i64>, ViewError> {
    let row = reader.find(id)?;
    if row.head.status.is_over() {
        return Ok(None);
    }
    let snapshot = reader.snapshot(&row, None)?.snapshot;
    let retries =
        snapshot.timers().iter().filter(|timer| matches!(timer.purpose, TimerPurpose::InvokeRetry { .. }));
    let mut next = retries.map(|timer| timer.due_ms).min();
    for child in reader.store().children(id)? {
        next = [next, next_retry_ms(reader, &child.new.id)?].into_iter().flatten().min();
    }
    Ok(next)
}
