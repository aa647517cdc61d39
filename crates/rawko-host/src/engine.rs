//! `Engine`: the operations on instances that any host provides. The server and its page use only this trait, so the
//! host on one machine and the host on many look the same to a user.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use rawko_core::{NamedEvent, Value};
use rawko_instance::{PersonAnswer, Receipt};
use tokio::sync::{broadcast, watch};

use crate::activity::Settled;
use crate::error::HostError;
use crate::fork::Fork;
use crate::host::Host;
use crate::library::{Edition, Library};
use crate::migrate::{MigrationOrder, MigrationReport};
use crate::progress::Progress;
use crate::reader::Reader;

/// The future of an operation of a host.
pub type Doing<'a, T> = Pin<Box<dyn Future<Output = Result<T, HostError>> + Send + 'a>>;

/// A host of instances, as a user or a server sees it. Each method does the same as the method of [`Host`] with its
/// name.
pub trait Engine: Send + Sync {
    fn start(&self, edition: Edition, input: Value, id: Option<String>, budget: Value) -> Doing<'_, Receipt>;
    fn send(&self, id: String, event: NamedEvent, key: Option<String>) -> Doing<'_, Receipt>;
    fn cancel(&self, id: String, reason: Value) -> Doing<'_, Receipt>;
    fn retry(&self, id: String) -> Doing<'_, Receipt>;
    /// Retries one failed item of an `each`: `reviews[3]`.
    fn retry_item(&self, id: String, item: String) -> Doing<'_, Receipt>;
    /// Pauses an instance and its descendants; `by` is the person.
    fn pause(&self, id: String, by: Value) -> Doing<'_, Receipt>;
    fn resume(&self, id: String, by: Value) -> Doing<'_, Receipt>;
    fn answer(&self, id: String, invoke: Option<String>, answer: PersonAnswer) -> Doing<'_, Receipt>;
    fn fork(&self, id: String, fork: Fork) -> Doing<'_, Receipt> {
        self.fork_within(id, fork, Value::Null)
    }
    fn fork_within(&self, id: String, fork: Fork, budget: Value) -> Doing<'_, Receipt>;
    /// Migrates instances to another chart or back; `by` is the person.
    fn migrate(&self, ids: Vec<String>, order: MigrationOrder, by: Value) -> Doing<'_, Vec<MigrationReport>>;
    fn settled(&self, id: String, patience: Duration) -> Doing<'_, Settled>;
    /// Returns the reader of stored instances, at any step.
    fn reader(&self) -> &Reader;
    /// Returns the charts that can be started.
    fn library(&self) -> &Library;
    /// Returns a counter that changes whenever a status may have changed.
    fn changes(&self) -> watch::Receiver<u64>;
    /// Returns the progress events of running calls.
    fn progress(&self) -> broadcast::Receiver<Progress>;
}

impl Engine for Host {
    fn start(&self, edition: Edition, input: Value, id: Option<String>, budget: Value) -> Doing<'_, Receipt> {
        Box::pin(self.start_within(edition, input, id, budget))
    }

    fn send(&self, id: String, event: NamedEvent, key: Option<String>) -> Doing<'_, Receipt> {
        Box::pin(async move { Host::send(self, &id, event, key.as_deref()).await })
    }

    fn cancel(&self, id: String, reason: Value) -> Doing<'_, Receipt> {
        Box::pin(async move { Host::cancel(self, &id, reason).await })
    }

    fn retry(&self, id: String) -> Doing<'_, Receipt> {
        Box::pin(async move { Host::retry(self, &id).await })
    }

    fn retry_item(&self, id: String, item: String) -> Doing<'_, Receipt> {
        Box::pin(async move { Host::retry_item(self, &id, &item).await })
    }

    fn pause(&self, id: String, by: Value) -> Doing<'_, Receipt> {
        Box::pin(async move { Host::pause(self, &id, by).await })
    }

    fn resume(&self, id: String, by: Value) -> Doing<'_, Receipt> {
        Box::pin(async move { Host::resume(self, &id, by).await })
    }

    fn answer(&self, id: String, invoke: Option<String>, answer: PersonAnswer) -> Doing<'_, Receipt> {
        Box::pin(async move { Host::answer(self, &id, invoke.as_deref(), answer).await })
    }

    fn fork_within(&self, id: String, fork: Fork, budget: Value) -> Doing<'_, Receipt> {
        Box::pin(async move { Host::fork_within(self, &id, fork, &budget).await })
    }

    fn migrate(&self, ids: Vec<String>, order: MigrationOrder, by: Value) -> Doing<'_, Vec<MigrationReport>> {
        Box::pin(Host::migrate(self, ids, order, by))
    }

    fn settled(&self, id: String, patience: Duration) -> Doing<'_, Settled> {
        Box::pin(async move { Host::settled(self, &id, patience).await })
    }

    fn reader(&self) -> &Reader {
        Host::reader(self)
    }

    fn library(&self) -> &Library {
        Host::library(self)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        Host::changes(self)
    }

    fn progress(&self) -> broadcast::Receiver<Progress> {
        Host::progress(self)
    }
}
