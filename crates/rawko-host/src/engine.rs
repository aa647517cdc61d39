//! `Engine`: the operations on instances that any host provides. The server and its page use only this trait, so the
//! host on one machine and the host on many look the same to a user.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use rawko_core::{NamedEvent, Value};
use rawko_instance::{PersonAnswer, Receipt};
use tokio::sync::{broadcast, watch};

use crate::activity::SettleReason;
use crate::error::HostError;
use crate::fork::Fork;
use crate::host::Host;
use crate::library::{Edition, Library};
use crate::migrate::{MigrationOrder, MigrationReport};
use crate::progress::CallProgress;
use crate::reader::SnapshotReader;

/// The future of an operation of a host.
pub type HostFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, HostError>> + Send + 'a>>;

/// A host of instances, as a user or a server sees it. Each method does the same as the method of [`Host`] with its
/// name.
pub trait Engine: Send + Sync {
    /// Starts an instance. An id is generated if omitted; `budget` limits it and its descendants.
    fn start(
        &self,
        edition: Edition,
        input: Value,
        id: Option<String>,
        budget: Value,
    ) -> HostFuture<'_, Receipt>;
    /// Sends an event. Repeating one with the same `key` changes nothing.
    fn send(&self, id: String, event: NamedEvent, key: Option<String>) -> HostFuture<'_, Receipt>;
    /// Cancels an instance: exit actions run, timers and calls stop.
    fn cancel(&self, id: String, reason: Value) -> HostFuture<'_, Receipt>;
    /// Retries the failed work of an instance in status `error`.
    fn retry(&self, id: String) -> HostFuture<'_, Receipt>;
    /// Retries one failed item of an `each`: `reviews[3]`.
    fn retry_item(&self, id: String, item: String) -> HostFuture<'_, Receipt>;
    /// Pauses an instance and its descendants; `by` is the person.
    fn pause(&self, id: String, by: Value) -> HostFuture<'_, Receipt>;
    /// Resumes an instance and its descendants; `by` is the person.
    fn resume(&self, id: String, by: Value) -> HostFuture<'_, Receipt>;
    /// Answers the request of a person; `invoke` names it if several are pending.
    fn answer(&self, id: String, invoke: Option<String>, answer: PersonAnswer) -> HostFuture<'_, Receipt>;
    /// Starts a new instance from a past step, without a budget of its own.
    fn fork(&self, id: String, fork: Fork) -> HostFuture<'_, Receipt> {
        self.fork_within(id, fork, Value::Null)
    }
    /// Starts a new instance from a past step, within `budget`.
    fn fork_within(&self, id: String, fork: Fork, budget: Value) -> HostFuture<'_, Receipt>;
    /// Migrates instances to another chart or back; `by` is the person.
    fn migrate(
        &self,
        ids: Vec<String>,
        order: MigrationOrder,
        by: Value,
    ) -> HostFuture<'_, Vec<MigrationReport>>;
    /// Waits until an instance settles, or until `patience` is over.
    fn settled(&self, id: String, patience: Duration) -> HostFuture<'_, SettleReason>;
    /// Returns true if [`Engine::remove`] is available.
    fn can_remove(&self) -> bool {
        false
    }
    /// Removes ended top-level instances with their descendants, all or none. Returns the number of removed instances.
    fn remove(&self, _ids: Vec<String>) -> HostFuture<'_, u64> {
        let refusal = "this host cannot remove instances".to_owned();
        Box::pin(std::future::ready(Err(HostError::Refused(refusal))))
    }
    /// Stores a chart that a new instance may invoke later, also on a host that does not publish it.
    fn keep(&self, _edition: &Edition) -> Result<(), HostError> {
        Ok(())
    }
    /// Returns the reader of stored instances, at any step.
    fn reader(&self) -> &SnapshotReader;
    /// Returns the charts that can be started.
    fn library(&self) -> &Library;
    /// Returns a counter that changes whenever a status may have changed.
    fn changes(&self) -> watch::Receiver<u64>;
    /// Returns the progress events of running calls.
    fn progress(&self) -> broadcast::Receiver<CallProgress>;
}

impl Engine for Host {
    fn start(
        &self,
        edition: Edition,
        input: Value,
        id: Option<String>,
        budget: Value,
    ) -> HostFuture<'_, Receipt> {
        Box::pin(self.start_within(edition, input, id, budget))
    }

    fn send(&self, id: String, event: NamedEvent, key: Option<String>) -> HostFuture<'_, Receipt> {
        Box::pin(async move { Host::send(self, &id, event, key.as_deref()).await })
    }

    fn cancel(&self, id: String, reason: Value) -> HostFuture<'_, Receipt> {
        Box::pin(async move { Host::cancel(self, &id, reason).await })
    }

    fn retry(&self, id: String) -> HostFuture<'_, Receipt> {
        Box::pin(async move { Host::retry(self, &id).await })
    }

    fn retry_item(&self, id: String, item: String) -> HostFuture<'_, Receipt> {
        Box::pin(async move { Host::retry_item(self, &id, &item).await })
    }

    fn pause(&self, id: String, by: Value) -> HostFuture<'_, Receipt> {
        Box::pin(async move { Host::pause(self, &id, by).await })
    }

    fn resume(&self, id: String, by: Value) -> HostFuture<'_, Receipt> {
        Box::pin(async move { Host::resume(self, &id, by).await })
    }

    fn answer(&self, id: String, invoke: Option<String>, answer: PersonAnswer) -> HostFuture<'_, Receipt> {
        Box::pin(async move { Host::answer(self, &id, invoke.as_deref(), answer).await })
    }

    fn fork_within(&self, id: String, fork: Fork, budget: Value) -> HostFuture<'_, Receipt> {
        Box::pin(async move { Host::fork_within(self, &id, fork, &budget).await })
    }

    fn migrate(
        &self,
        ids: Vec<String>,
        order: MigrationOrder,
        by: Value,
    ) -> HostFuture<'_, Vec<MigrationReport>> {
        Box::pin(Host::migrate(self, ids, order, by))
    }

    fn settled(&self, id: String, patience: Duration) -> HostFuture<'_, SettleReason> {
        Box::pin(async move { Host::settled(self, &id, patience).await })
    }

    fn can_remove(&self) -> bool {
        Host::can_remove(self)
    }

    fn remove(&self, ids: Vec<String>) -> HostFuture<'_, u64> {
        Box::pin(Host::remove(self, ids))
    }

    fn keep(&self, edition: &Edition) -> Result<(), HostError> {
        Host::keep(self, edition)
    }

    fn reader(&self) -> &SnapshotReader {
        Host::reader(self)
    }

    fn library(&self) -> &Library {
        Host::library(self)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        Host::changes(self)
    }

    fn progress(&self) -> broadcast::Receiver<CallProgress> {
        Host::progress(self)
    }
}
