//! `Actor`: one running instance: send, subscribe, wait, persist. Every operation returns once it is on disk.

use std::sync::Arc;
use std::time::Duration;

use rawko_core::{NamedEvent, Value};
use rawko_host::{Edition, Host, SettleReason};
use rawko_store::InstanceRow;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::answer::Answer;
use super::error::{Error, Result};
use super::events::Events;
use super::persisted::PersistedSnapshot;
use super::project::{Project, to_value};
use super::snapshot::{Snapshot, SnapshotStatus};
use super::snapshots::Snapshots;

/// The name that the journal has for acts of an embedding program.
const PROGRAM: &str = "program";

/// A running instance of a chart. Cheap to clone. Dropping it changes nothing: the instance belongs to the project.
#[derive(Clone)]
pub struct Actor {
    project: Project,
    id: Arc<str>,
}

impl Actor {
    /// Starts an instance of a chart: `id`, `id@1.2.0` or `id@^1`. The input overrides keys of the chart's context; `()`
    /// is none.
    pub async fn start(project: &Project, chart: &str, input: impl Serialize) -> Result<Actor> {
        let edition = project.edition(chart)?;
        let input = to_value("the input", input)?;
        Actor::begin(project, edition, input, None, Value::Null).await
    }

    pub(super) async fn begin(
        project: &Project,
        edition: Edition,
        input: Value,
        id: Option<String>,
        budget: Value,
    ) -> Result<Actor> {
        let receipt = project.inner.host.start_within(edition, input, id, budget).await?;
        Ok(Actor { project: project.clone(), id: receipt.instance })
    }

    pub(super) async fn of_stored(project: &Project, id: &str) -> Result<Actor> {
        let host = &project.inner.host;
        let row = host.reader().find(id)?;
        // Asking how it stands makes the host drive it.
        let settling = host.settled(id, Duration::ZERO);
        let _ = tokio::time::timeout(Duration::ZERO, settling).await;
        Ok(Actor { project: project.clone(), id: row.new.id })
    }

    /// Adds an instance that was persisted elsewhere, with its history and its children, and continues it: timers keep
    /// their times, calls without a result are repeated if they are safe to repeat, else the chart gets an error with the
    /// category `interrupted`. Fails if the project has an instance of this id; [`Project::actor`] returns that.
    pub async fn restore(project: &Project, snapshot: &PersistedSnapshot) -> Result<Actor> {
        let id = project.inner.host.import(snapshot.family()?)?;
        Ok(Actor { project: project.clone(), id })
    }

    /// Returns the id of the instance.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Sends an event and returns the snapshot after the step that took it. Data that the chart declares another type for
    /// is refused.
    pub async fn send(&self, event: &str, data: impl Serialize) -> Result<Snapshot> {
        let event = NamedEvent::new(event, to_value("the data of the event", data)?);
        let receipt = self.host().send(&self.id, event, None).await?;
        let row = self.row()?;
        let restored = self.host().reader().snapshot(&row, Some(receipt.step.min(row.step)))?;
        Ok(Snapshot::of(&restored))
    }

    /// Returns the current snapshot.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let row = self.row()?;
        Ok(Snapshot::of(&self.host().reader().snapshot(&row, None)?))
    }

    /// Returns the instance with its children, its journal and its open calls, to store it as JSON and restore it
    /// elsewhere. The instance itself continues; cancel it or close the project if it should not.
    pub fn persisted_snapshot(&self) -> Result<PersistedSnapshot> {
        PersistedSnapshot::of(&self.host().export(&self.id)?)
    }

    /// Subscribes to snapshots: the current one, then one for every step, none left out.
    pub fn subscribe(&self) -> Result<Snapshots> {
        Snapshots::new(self.clone())
    }

    /// Subscribes to the text and the tool calls of agents that work for this instance, while they arrive.
    pub fn events(&self) -> Events {
        Events::new(self.clone())
    }

    /// Waits until the instance is over and returns the output of its final state. Meanwhile other tasks may have to send
    /// the events and answers that it waits for; see [`settled`](Actor::settled).
    ///
    /// # Errors
    /// [`Error::Failed`] if it fails and its chart does not handle it, [`Error::Cancelled`], and [`Error::Json`] if the
    /// output has another type.
    pub async fn result<T: DeserializeOwned>(&self) -> Result<T> {
        let mut changes = self.host().changes();
        loop {
            changes.borrow_and_update();
            match self.host().settled(&self.id, Duration::MAX).await? {
                SettleReason::Over(_) | SettleReason::Failed => break,
                SettleReason::Stuck(error) => return Err(error.into()),
                SettleReason::Waiting(_) | SettleReason::Paused => {
                    if changes.changed().await.is_err() {
                        return Err(rawko_host::HostError::Closing.into());
                    }
                }
            }
        }
        let snapshot = self.snapshot()?;
        let id = self.id.to_string();
        match snapshot.status {
            SnapshotStatus::Done => serde_json::from_value(snapshot.output).map_err(|source| Error::Json {
                what: format!("the output of `{id}` has another type"),
                source,
            }),
            SnapshotStatus::Cancelled => Err(Error::Cancelled { id }),
            SnapshotStatus::Active | SnapshotStatus::Error => {
                Err(Error::Failed { id, error: snapshot.error })
            }
        }
    }

    /// Waits until nothing runs: the instance is over, failed or paused, or waits for an event, a person or a timer.
    pub async fn settled(&self) -> Result<Snapshot> {
        match self.host().settled(&self.id, Duration::ZERO).await? {
            SettleReason::Stuck(error) => Err(error.into()),
            SettleReason::Over(_)
            | SettleReason::Failed
            | SettleReason::Waiting(_)
            | SettleReason::Paused => self.snapshot(),
        }
    }

    /// Answers a pending request to a person. `invoke` selects one of several. A form whose fields do not fit is refused.
    pub async fn answer(&self, invoke: Option<&str>, answer: Answer) -> Result<()> {
        self.host().answer(&self.id, invoke, answer.into_given()).await?;
        Ok(())
    }

    /// Ends the instance: exit actions run, timers and calls stop.
    pub async fn cancel(&self, reason: &str) -> Result<()> {
        self.host().cancel(&self.id, Value::str(reason)).await?;
        Ok(())
    }

    /// Pauses the instance and its children: only [`resume`](Actor::resume) continues them.
    pub async fn pause(&self) -> Result<()> {
        self.host().pause(&self.id, Value::str(PROGRAM)).await?;
        Ok(())
    }

    /// Resumes the instance and its children.
    pub async fn resume(&self) -> Result<()> {
        self.host().resume(&self.id, Value::str(PROGRAM)).await?;
        Ok(())
    }

    /// Retries the failed call of an instance with the status `Error`.
    pub async fn retry(&self) -> Result<()> {
        self.host().retry(&self.id).await?;
        Ok(())
    }

    pub(super) fn host(&self) -> &Host {
        &self.project.inner.host
    }

    pub(super) fn row(&self) -> Result<InstanceRow> {
        Ok(self.host().reader().find(&self.id)?)
    }
}
