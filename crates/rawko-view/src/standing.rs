//! How an instance stands: what it asks, what runs for it, what it would take, what it waits for. What `show` and the
//! page print and what `run` says when it parks.

use std::sync::Arc;

use rawko_core::{Chart, Now, Snapshot, TimerPurpose, Value, World};
use rawko_host::{Reader, Spent};
use rawko_store::{EffectKind, InstanceRow, OpenEffect};

use crate::error::ViewError;
use crate::journal::{Timer, words};
use crate::offers::{self, Offer};
use crate::rows;

/// An instance after some step.
pub struct Standing {
    pub row: InstanceRow,
    pub chart: Arc<Chart>,
    pub snapshot: Snapshot,
    /// When that step was taken.
    pub at_ms: i64,
    pub timers: Vec<Timer>,
    pub running: Vec<Running>,
    pub asks: Vec<Ask>,
    pub children: Vec<InstanceRow>,
    pub offers: Vec<Offer>,
}

/// Something that is done for the instance now.
#[derive(Clone, Debug)]
pub struct Running {
    /// The invoke's id; for a call or a send, the name.
    pub invoke: String,
    pub name: Arc<str>,
    pub attempt: Option<u32>,
    /// `None` for the past: it is over.
    pub open: Option<OpenEffect>,
}

/// What a person is asked.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The instance that asks: this one, or one below it.
    pub instance: Arc<str>,
    pub invoke: String,
    pub input: Value,
    pub since_ms: i64,
    pub expires_ms: Option<i64>,
}

/// What one instance asks people, without those below it.
pub fn asked(reader: &Reader, row: &InstanceRow) -> Result<Vec<Ask>, ViewError> {
    let open = reader.store().open_effects(Some(row.key))?;
    let restored = reader.snapshot(row, None)?;
    Ok(asks_of(row, &restored.chart, &restored.snapshot, &open))
}

impl Standing {
    pub fn of(reader: &Reader, id: &str, world: &World, now_ms: i64) -> Result<Standing, ViewError> {
        Standing::at(reader, id, None, world, now_ms)
    }

    /// As it was after a step; as it is, if none is given.
    pub fn at(
        reader: &Reader,
        id: &str,
        step: Option<u64>,
        world: &World,
        now_ms: i64,
    ) -> Result<Standing, ViewError> {
        let row = reader.find(id)?;
        let restored = reader.snapshot(&row, step)?;
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
        Ok(Standing { row, at_ms: restored.at_ms, timers, running, asks, children, offers, chart, snapshot })
    }

    pub fn configuration(&self) -> Vec<&str> {
        self.chart.leaf_paths(self.snapshot.configuration()).collect()
    }

    /// What it and everything below it has cost so far.
    pub fn spent(&self) -> Spent {
        rows::spent(&self.row)
    }

    pub fn id(&self) -> &str {
        &self.row.new.id
    }
}

fn running_of(chart: &Chart, snapshot: &Snapshot, effect: &OpenEffect) -> Running {
    let known = snapshot.invocations().iter().find(|known| Some(known.id) == effect.invocation);
    let invoke = known.map_or(&*effect.name, |known| chart.invoke_name(known.invoke));
    Running {
        invoke: invoke.to_owned(),
        name: Arc::clone(&effect.name),
        attempt: known.map(|known| known.attempt),
        open: Some(effect.clone()),
    }
}

/// What ran after a past step, as far as the snapshot knows.
fn ran(chart: &Chart, snapshot: &Snapshot) -> Vec<Running> {
    let running = snapshot.invocations().iter().map(|known| Running {
        invoke: chart.invoke_name(known.invoke).to_owned(),
        name: Arc::clone(&known.src),
        attempt: Some(known.attempt),
        open: None,
    });
    running.collect()
}

fn asks_of(row: &InstanceRow, chart: &Chart, snapshot: &Snapshot, open: &[OpenEffect]) -> Vec<Ask> {
    let people = open.iter().filter(|effect| effect.kind == EffectKind::Person);
    let asks = people.filter_map(|effect| {
        let known = snapshot.invocations().iter().find(|known| Some(known.id) == effect.invocation)?;
        Some(Ask {
            instance: Arc::clone(&row.new.id),
            invoke: chart.invoke_name(known.invoke).to_owned(),
            input: known.input.clone(),
            since_ms: effect.opened_ms,
            expires_ms: effect.due_ms,
        })
    });
    asks.collect()
}

/// A parent waits for whoever its children ask.
fn add_asks_below(reader: &Reader, children: &[InstanceRow], asks: &mut Vec<Ask>) -> Result<(), ViewError> {
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

/// When the next attempt of a call is due, of an instance or of one below it.
pub fn next_retry_ms(reader: &Reader, id: &str) -> Result<Option<i64>, ViewError> {
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
