//! The queue of tasks: `rawko task --queue` adds to it, a host starts its tasks. The chart `task_queue` decides which task
//! may run; this module reads its context and acts on its decisions, for any host.

mod scheduler;
mod settings;

use rawko_core::Value;
#[cfg(feature = "server")]
use rawko_core::{NamedEvent, Status};
#[cfg(feature = "server")]
use rawko_host::{Engine, Receipt};
use rawko_host::{HostError, SnapshotReader};
use rawko_store::{InstanceStatus, WaitReason};
use rawko_view::rows::{Row, SpentDocument};
use rawko_view::times;

pub(crate) use scheduler::Scheduler;
pub(crate) use settings::{at_once, look as look_at_settings};

use crate::failure::CommandFailure;
use crate::hosting::{LoadedChart, SocketRequest};

/// The chart of the queue.
pub(crate) const CHART: &str = "task_queue";
/// The one instance of it.
pub(crate) const QUEUE: &str = "task-queue";

/// One task of the queue.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QueuedTask {
    pub(crate) id: String,
    pub(crate) task: String,
    pub(crate) priority: i64,
    pub(crate) charts: Vec<LoadedChart>,
    pub(crate) input: Value,
    pub(crate) budget: Value,
    pub(crate) queued_ms: i64,
}

/// The queue as it is stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TaskQueue {
    pub(crate) at_once: i64,
    pub(crate) waiting: Vec<QueuedTask>,
    /// Admitted tasks that have not started.
    pub(crate) next: Vec<QueuedTask>,
    pub(crate) running: Vec<QueuedTask>,
    /// Tasks that could not start, with the reason.
    pub(crate) refused: Vec<(String, String)>,
}

impl TaskQueue {
    /// Reads the queue; `None` if no task was ever queued.
    pub(crate) fn read(reader: &SnapshotReader) -> Result<Option<TaskQueue>, HostError> {
        let Some(row) = reader.store().find(QUEUE)? else { return Ok(None) };
        if row.head.status.is_over() {
            return Ok(None);
        }
        let restored = reader.snapshot(&row, None)?;
        let context = restored.snapshot.context_map(&restored.chart);
        let tasks = |key: &str| list(context.get(key)).iter().filter_map(QueuedTask::of).collect();
        let refused =
            list(context.get("refused")).iter().map(|entry| (text(entry, "id"), text(entry, "problem")));
        let admitted: Vec<QueuedTask> = tasks("running");
        let mut queue = TaskQueue {
            at_once: context.get("at_once").as_i64().unwrap_or(1),
            waiting: tasks("waiting"),
            next: Vec::new(),
            running: Vec::new(),
            refused: refused.collect(),
        };
        for task in admitted {
            let is_started = reader.store().find(&task.id)?.is_some();
            let list = if is_started { &mut queue.running } else { &mut queue.next };
            list.push(task);
        }
        Ok(Some(queue))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.unstarted().next().is_none() && self.running.is_empty()
    }

    /// Returns the tasks that have not started, the next one first.
    pub(crate) fn unstarted(&self) -> impl Iterator<Item = &QueuedTask> {
        self.next.iter().chain(&self.waiting)
    }

    /// Returns the rows of `rawko ps` for the tasks that have not started, the last one first.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = self.unstarted().map(QueuedTask::row).collect();
        rows.reverse();
        rows
    }
}

impl QueuedTask {
    fn of(entry: &Value) -> Option<QueuedTask> {
        let chart = |chart: &Value| LoadedChart::new(&text(chart, "name"), &text(chart, "text"));
        Some(QueuedTask {
            id: entry.get("id").as_str()?.to_owned(),
            task: text(entry, "task"),
            priority: entry.get("priority").as_i64().unwrap_or_default(),
            charts: list(entry.get("charts")).iter().map(chart).collect(),
            input: entry.get("input").clone(),
            budget: entry.get("budget").clone(),
            queued_ms: entry.get("queued_ms").as_i64().unwrap_or_default(),
        })
    }

    fn data(&self) -> Value {
        let charts = self
            .charts
            .iter()
            .map(|chart| Value::map([("name", Value::str(&chart.name)), ("text", Value::str(&chart.text))]));
        Value::map([
            ("id", Value::str(&self.id)),
            ("task", Value::str(&self.task)),
            ("priority", Value::Int(self.priority)),
            ("rank", Value::Int(self.priority.saturating_neg())),
            ("charts", Value::list(charts.collect())),
            ("input", self.input.clone()),
            ("budget", self.budget.clone()),
            ("queued_ms", Value::Int(self.queued_ms)),
        ])
    }

    /// Returns the request that adds the task. Repeating it changes nothing.
    pub(crate) fn add(&self) -> SocketRequest {
        event("QUEUE_ADD", self.data(), Some(format!("add {} {}", self.id, self.queued_ms)))
    }

    /// Adds the task with the engine of this process, and creates the queue if there is none.
    #[cfg(feature = "server")]
    pub(crate) async fn put(self, engine: &dyn Engine, at_once: u32) -> Result<Receipt, HostError> {
        let store = engine.reader().store();
        if store.find(QUEUE)?.is_none() {
            let chart = engine.library().resolve(CHART)?;
            let input = Value::map([("at_once", Value::Int(at_once.into()))]);
            // Another request may create it at the same time.
            let started = engine.start(chart, input, Some(QUEUE.to_owned()), Value::Null).await;
            if store.find(QUEUE)?.is_none() {
                started?;
            }
        }
        let queue = TaskQueue::read(engine.reader())?.unwrap_or_default();
        if store.find(&self.id)?.is_some() || queue.unstarted().any(|task| task.id == self.id) {
            return Err(HostError::Exists(self.id));
        }
        if let SocketRequest::Send { id, event, data, key } = self.add() {
            engine.send(id, NamedEvent::new(event, data), key).await?;
        }
        let status = Status::Active;
        Ok(Receipt { instance: self.id.as_str().into(), step: 0, handled: true, queued: true, status })
    }

    fn row(&self) -> Row {
        let chart = self.charts.first().map(|chart| chart.name.to_string()).unwrap_or_default();
        Row {
            id: self.id.clone(),
            chart,
            version: String::new(),
            chart_hash: String::new(),
            status: InstanceStatus::Waiting,
            outcome: None,
            title: self.task.lines().next().map(str::to_owned),
            waiting_for: Some("queue".to_owned()),
            reason: None,
            hint: Some("rawko queue run".to_owned()),
            waits_for: WaitReason::Nothing,
            next_due_ms: None,
            fault: None,
            step: 0,
            created_ms: self.queued_ms,
            updated_ms: self.queued_ms,
            updated: times::moment(self.queued_ms).replacen(' ', "T", 1),
            parent: None,
            forked_from: None,
            agent: None,
            spent: SpentDocument::default(),
            configuration: Some(vec!["queued".to_owned()]),
        }
    }
}

/// Returns the request that removes a waiting task.
pub(crate) fn remove(id: &str) -> SocketRequest {
    event("QUEUE_REMOVE", Value::map([("id", Value::str(id))]), None)
}

/// Returns the request that gives a waiting task another priority.
pub(crate) fn reprioritise(id: &str, priority: i64) -> SocketRequest {
    let rank = Value::Int(priority.saturating_neg());
    let data = [("id", Value::str(id)), ("priority", Value::Int(priority)), ("rank", rank)];
    event("QUEUE_MOVE", Value::map(data), None)
}

fn event(name: &str, data: Value, key: Option<String>) -> SocketRequest {
    SocketRequest::Send { id: QUEUE.to_owned(), event: name.to_owned(), data, key }
}

/// Returns the task with this id, if it is queued and has not started.
pub(crate) fn find(reader: &SnapshotReader, id: &str) -> Result<Option<QueuedTask>, CommandFailure> {
    let queue = TaskQueue::read(reader)?.unwrap_or_default();
    Ok(queue.unstarted().find(|task| task.id == id).cloned())
}

fn list(value: &Value) -> &[Value] {
    value.as_list().map_or(&[], |list| list)
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).as_str().unwrap_or_default().to_owned()
}
