//! Converts a plan to the new state of the instance, of its children, and the durable sends of each.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rawko_core::{Event, Value};
use rawko_host::HostError;
use rawko_instance::{DriverAction, Instance, StartedChild, StoredMessage, Transaction};
use rawko_store::{Blob, Commit, Head, InstanceKey, content};

use super::blobs::{BlobsByName, Name};
use super::charts::WorkerCharts;
use super::environment::WorkerEnvironment;
use super::outcome::{CommitResult, KeptChart, TimerAsk, Todo, WorkAsk};
use crate::layout::{BlobText, ChartSource, LiveState, PostedEvent, StoredRow, hex};

/// One run of the planner.
pub(super) struct Planning<'a> {
    pub(super) environment: &'a WorkerEnvironment<'a>,
    pub(super) with: &'a [String],
    pub(super) now_ms: i64,
    pub(super) charts: &'a WorkerCharts,
}

impl Planning<'_> {
    /// `known` are the blobs that the instance stores already.
    pub(super) fn written(
        &self,
        instance: &Instance,
        tx: Transaction,
        before: Option<&LiveState>,
        known: &BlobsByName,
    ) -> Result<CommitResult, HostError> {
        let Transaction { commit, children, actions, .. } = tx;
        let mut written = self.one(instance, commit, before, known);
        let agents = children.iter().map(|child| &child.instance).chain([instance]);
        let agents: HashMap<InstanceKey, Option<String>> =
            agents.map(|it| (it.key(), it.agent().map(str::to_owned))).collect();
        written.children = children
            .into_iter()
            .map(|StartedChild { instance, commit }| self.one(&instance, commit, None, &BlobsByName::new()))
            .collect();
        for action in actions {
            self.assign(action, &agents, &mut written)?;
        }
        written.is_awaited = is_awaited(&written, before);
        for child in &mut written.children {
            child.is_awaited = is_awaited(child, None);
        }
        written.pass_slots_on();
        written.charts = self.new_charts();
        arm(&mut written, self.now_ms);
        written.children.iter_mut().for_each(|child| arm(child, self.now_ms));
        Ok(written)
    }

    /// Writes only the handler's own changes.
    pub(super) fn touched(&self, live: LiveState) -> CommitResult {
        let mut written = CommitResult::empty(live);
        arm(&mut written, self.now_ms);
        written
    }

    /// Returns the state and journal of one instance.
    fn one(
        &self,
        instance: &Instance,
        commit: Commit,
        before: Option<&LiveState>,
        known: &BlobsByName,
    ) -> CommitResult {
        let kept = instance.save();
        let (records, lines) = before.map_or((0, 0), |live| (live.row.records, live.row.audit));
        let mut written_records = commit.records;
        for (record, number) in written_records.iter_mut().zip(records + 1..) {
            record.seq = number;
        }
        let snapshot = instance.snapshot_json();
        let packed = content::pack_new(&snapshot, &|name| known.contains_key(name));
        let blobs = texts_of(commit.blobs.into_iter().chain(packed.blobs), known);
        let last_at_ms = written_records.last().map(|record| record.at_ms);
        let row = StoredRow {
            updated_ms: last_at_ms.or(before.map(|live| live.row.updated_ms)).unwrap_or(kept.new.created_ms),
            key: kept.key,
            new: kept.new,
            head: kept.head,
            step: instance.step(),
            records: records + written_records.len() as u64,
            audit: lines + commit.audit.len() as u64,
            to_itself: before.map_or(0, |live| live.row.to_itself),
        };
        let live = LiveState {
            row,
            snapshot: packed.text.into_owned(),
            open: kept.open,
            calls: kept.calls,
            // Also after a failed step: the time of records never decreases.
            last_ms: last_at_ms.map_or(kept.last_ms, |at_ms| at_ms.max(kept.last_ms)),
            snapshot_bytes: kept.snapshot_bytes,
            delta_bytes: kept.delta_bytes,
            pace: kept.pace,
            armed_ms: before.and_then(|live| live.armed_ms),
            with: self.with.to_vec(),
            // One that began at an earlier worker has none.
            has_slot: before.map_or(instance.parent().is_some(), |live| live.has_slot),
        };
        CommitResult {
            records: written_records,
            snapshot: commit.snapshot.map(|snapshot| *snapshot),
            blobs,
            deliveries: commit.deliveries,
            audit: commit.audit,
            is_indexed: true,
            ..CommitResult::empty(live)
        }
    }

    /// Assigns an action to the instance that requested it, which begins before any of its actions.
    fn assign(
        &self,
        action: DriverAction,
        agents: &HashMap<InstanceKey, Option<String>>,
        written: &mut CommitResult,
    ) -> Result<(), HostError> {
        match action {
            DriverAction::Run { effect, .. } => {
                let owner = owner(written, effect.instance);
                let instance = Arc::clone(&owner.live.row.new.id);
                let agent = agents.get(&effect.instance).cloned().flatten();
                owner.todo.push(Todo::Run(WorkAsk { instance, agent, effect }));
            }
            // The worker that runs the effect notices that its result is no longer awaited.
            DriverAction::Stop { .. } => {}
            DriverAction::Deliver { to, message, .. } => self.post(to, message, written)?,
        }
        Ok(())
    }

    fn post(
        &self,
        to: InstanceKey,
        message: StoredMessage,
        written: &mut CommitResult,
    ) -> Result<(), HostError> {
        // Every recipient was looked up in the environment. A message without an address would be lost.
        let id = self
            .environment
            .id(to)
            .ok_or_else(|| HostError::Internal(written.live.row.new.id.to_string()))?;
        let from = self.environment.may_be_absent(to).then(|| sender(&message.event)).flatten();
        let to_itself = written.live.row.key == to;
        if to_itself {
            written.live.row.to_itself += 1;
        }
        let StoredMessage { event, key, child, spent, chain } = message;
        let post = PostedEvent { event, child, spent, from, to_itself, key, chain, slots: 0 };
        written.todo.push(Todo::Post { to: id, post });
        Ok(())
    }

    fn new_charts(&self) -> Vec<KeptChart> {
        let mut seen = HashSet::new();
        let new = |edition: &rawko_host::Edition| {
            let hash = edition.chart.hash();
            seen.insert(hash) && !self.charts.is_kept(&hash)
        };
        let editions = self.environment.take_begun().into_iter().filter(new).collect::<Vec<_>>();
        editions
            .iter()
            .map(|it| KeptChart { hash: hex(&it.chart.hash()), text: ChartSource::of(it, self.now_ms) })
            .collect()
    }
}

/// Returns true if others may look in the index for what the step did: an instance begins, ends or waits for something else,
/// or its messages move others.
fn is_awaited(written: &CommitResult, before: Option<&LiveState>) -> bool {
    let (head, own) = (&written.live.row.head, &written.live.row.new.id);
    let is_posted = |todo: &Todo| matches!(todo, Todo::Post { to, .. } if to != own);
    let is_same =
        |before: &Head| (before.status, before.wait, &before.fault) == (head.status, head.wait, &head.fault);
    before.is_none_or(|before| !is_same(&before.row.head))
        || !written.children.is_empty()
        || written.todo.iter().any(is_posted)
}

fn owner(written: &mut CommitResult, key: InstanceKey) -> &mut CommitResult {
    match written.children.iter().position(|child| child.live.row.key == key) {
        Some(at) => &mut written.children[at],
        None => written,
    }
}

/// Sets the next timer, unless it is in flight already.
fn arm(written: &mut CommitResult, now_ms: i64) {
    let due = written.live.row.head.next_due_ms;
    if written.live.armed_ms == due {
        return;
    }
    written.live.armed_ms = due;
    written.timer = due.map(|due_ms| TimerAsk { due_ms, delay_ms: delay(due_ms, now_ms) });
}

fn delay(due_ms: i64, now_ms: i64) -> u64 {
    u64::try_from(due_ms.saturating_sub(now_ms)).unwrap_or(0)
}

/// Returns the sender of an event that names its recipient by id.
fn sender(event: &Event) -> Option<Arc<str>> {
    match event {
        Event::Named(event) => event.origin.as_str().map(Into::into),
        Event::TimerFired { .. }
        | Event::InvokeDone { .. }
        | Event::InvokeFailed { .. }
        | Event::RetryRequested
        | Event::ItemRetryRequested { .. }
        | Event::CancelRequested { .. }
        | Event::PauseRequested { .. }
        | Event::ResumeRequested { .. } => None,
    }
}

/// Returns each blob once, without those that are stored already.
fn texts_of(blobs: impl Iterator<Item = Blob>, known: &BlobsByName) -> Vec<BlobText> {
    let mut seen: HashSet<Name> = HashSet::new();
    let new = blobs.filter(|blob| !known.contains_key(&blob.hash) && seen.insert(blob.hash));
    // Blobs are JSON text and strings, with a prefix letter.
    new.filter_map(|blob| {
        let body = String::from_utf8(blob.body).ok()?;
        Some(BlobText { name: hex(&blob.hash), body })
    })
    .collect()
}

/// Returns the error that the parent receives for a child whose id is in use.
pub(super) fn is_taken(id: &str, invocation: u64) -> Event {
    let error = Value::map([
        ("category", Value::str("host")),
        ("message", Value::from(format!("instance `{id}` already exists"))),
        ("retryable", Value::Bool(false)),
    ]);
    Event::InvokeFailed { invocation, error }
}
