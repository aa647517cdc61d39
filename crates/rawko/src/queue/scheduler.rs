//! Starts the tasks that the queue has admitted, and informs the queue when their places are free. Everything it does may be
//! repeated: a task is started under its own id, and an event of the queue has a key. So it can be killed anywhere, and
//! several can run at the same time, as on Restate.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use rawko_core::{NamedEvent, Value};
use rawko_host::{Edition, Engine, HostError};
use rawko_store::InstanceStatus;
use rawko_view::rows::Row;

use super::{QUEUE, QueuedTask, TaskQueue};

/// The shortest time between two passes: commits arrive faster.
const BETWEEN: Duration = Duration::from_millis(100);

/// Drives the queue of one host.
pub(crate) struct Scheduler {
    engine: Arc<dyn Engine>,
    at_once: u32,
    /// The host moves only instances that it was asked about, so tasks of an earlier host are continued by request.
    continues: bool,
    continued: HashSet<String>,
}

/// The reason that nothing moves any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standstill {
    /// Tasks that gave up their place because they need a person.
    pub(crate) resting: Vec<String>,
}

impl Scheduler {
    pub(crate) fn new(engine: Arc<dyn Engine>, at_once: u32) -> Scheduler {
        Scheduler { engine, at_once, continues: false, continued: HashSet::new() }
    }

    /// For a host that moves only requested instances.
    pub(crate) fn continuing(self) -> Scheduler {
        Scheduler { continues: true, ..self }
    }

    /// Serves the queue for as long as the host runs. Faults of the store are retried with the next change.
    #[cfg(feature = "server")]
    pub(crate) async fn serve(mut self) {
        let mut changes = self.engine.changes();
        loop {
            // The host reports a store that fails.
            let _ = self.pass().await;
            tokio::time::sleep(BETWEEN).await;
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Serves the queue until it is empty. `ended` receives each task that leaves it.
    pub(crate) async fn drain(
        &mut self,
        ended: &mut (dyn FnMut(&Row) + Send),
    ) -> Result<Standstill, HostError> {
        let mut changes = self.engine.changes();
        let mut standstill = Standstill::default();
        loop {
            let (left, is_empty) = self.pass().await?;
            for row in &left {
                ended(row);
                if row.status != InstanceStatus::Ended {
                    standstill.resting.push(row.id.clone());
                }
            }
            if is_empty {
                return Ok(standstill);
            }
            if left.is_empty() {
                tokio::time::sleep(BETWEEN).await;
                if changes.changed().await.is_err() {
                    return Err(HostError::Closing);
                }
            }
        }
    }

    /// Starts admitted tasks and frees the places of tasks that rest. Returns the latter, and whether the queue is empty.
    async fn pass(&mut self) -> Result<(Vec<Row>, bool), HostError> {
        let Some(queue) = self.read().await? else { return Ok((Vec::new(), true)) };
        if queue.at_once != i64::from(self.at_once) && !queue.is_empty() {
            self.send("QUEUE_LIMIT", Value::map([("at_once", Value::Int(self.at_once.into()))]), None)
                .await?;
            // A lower limit takes effect as tasks end; a higher one admits tasks now.
            return Box::pin(self.admitted()).await;
        }
        self.move_running(queue).await
    }

    async fn admitted(&mut self) -> Result<(Vec<Row>, bool), HostError> {
        match self.read().await? {
            Some(queue) => self.move_running(queue).await,
            None => Ok((Vec::new(), true)),
        }
    }

    async fn move_running(&mut self, queue: TaskQueue) -> Result<(Vec<Row>, bool), HostError> {
        let is_empty = queue.is_empty();
        let mut left = Vec::new();
        for task in queue.running.into_iter().chain(queue.next) {
            match self.row(&task.id).await? {
                None => self.start(task).await?,
                Some(row) if is_at_rest(&row) => {
                    self.leave(&task, None).await?;
                    left.push(row);
                }
                Some(row) => self.continue_once(&row.id).await?,
            }
        }
        Ok((left, is_empty))
    }

    async fn start(&mut self, task: QueuedTask) -> Result<(), HostError> {
        match self.begin(&task).await {
            Ok(()) => {
                self.continued.insert(task.id);
                Ok(())
            }
            // Another scheduler was faster.
            Err(HostError::Exists(_)) => Ok(()),
            Err(error) if error.is_transient() => Err(error),
            Err(error) => self.leave(&task, Some(error.to_string())).await,
        }
    }

    async fn begin(&self, task: &QueuedTask) -> Result<(), HostError> {
        let mut first = None;
        for chart in &task.charts {
            let edition = Edition::read(&chart.name, &chart.text)?;
            self.engine.library().offer(edition.clone());
            first.get_or_insert(edition);
        }
        let edition = first.ok_or_else(|| HostError::NoChart(task.id.clone()))?;
        let (input, budget) = (task.input.clone(), task.budget.clone());
        self.engine.start(edition, input, Some(task.id.clone()), budget).await.map(drop)
    }

    /// Continues a task that an earlier host left.
    async fn continue_once(&mut self, id: &str) -> Result<(), HostError> {
        if !self.continues || !self.continued.insert(id.to_owned()) {
            return Ok(());
        }
        self.engine.resume(id.to_owned(), Value::str("queue")).await.map(drop)
    }

    async fn leave(&self, task: &QueuedTask, problem: Option<String>) -> Result<(), HostError> {
        let problem = problem.map_or(Value::Null, Value::from);
        let data = Value::map([("id", Value::str(&task.id)), ("problem", problem)]);
        self.send("QUEUE_LEFT", data, Some(format!("left {} {}", task.id, task.queued_ms))).await
    }

    async fn send(&self, name: &str, data: Value, key: Option<String>) -> Result<(), HostError> {
        self.engine.send(QUEUE.to_owned(), NamedEvent::new(name, data), key).await.map(drop)
    }

    async fn read(&self) -> Result<Option<TaskQueue>, HostError> {
        let reader = self.engine.reader().clone();
        tokio::task::spawn_blocking(move || TaskQueue::read(&reader)).await.map_err(|_| HostError::Closing)?
    }

    async fn row(&self, id: &str) -> Result<Option<Row>, HostError> {
        let (reader, id) = (self.engine.reader().clone(), id.to_owned());
        let read = move || {
            let row = reader.store().find(&id)?;
            Ok(row.map(|row| Row::read(&reader, &row)))
        };
        tokio::task::spawn_blocking(read).await.map_err(|_| HostError::Closing)?
    }
}

/// Returns true for a task that has ended, or that only a person moves: it must not keep others from running.
fn is_at_rest(row: &Row) -> bool {
    match row.status {
        InstanceStatus::Ended | InstanceStatus::Paused | InstanceStatus::Stalled => true,
        InstanceStatus::Waiting => matches!(row.waiting_for.as_deref(), Some("person" | "event")),
        InstanceStatus::Running => false,
    }
}
