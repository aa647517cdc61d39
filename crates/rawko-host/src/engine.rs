//! `Engine`: what whoever acts on instances needs of a host, whichever it is. The server and its page stand on this, so that
//! the host on one machine and the one on many look the same to a person.

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
use crate::progress::Progress;
use crate::reader::Reader;

/// Something that a host is asked to do.
pub type Doing<'a, T> = Pin<Box<dyn Future<Output = Result<T, HostError>> + Send + 'a>>;

/// A host of instances, as a person or a server sees it. Each method does what the one of [`Host`] with its name does.
pub trait Engine: Send + Sync {
    fn start(&self, edition: Edition, input: Value, id: Option<String>, budget: Value) -> Doing<'_, Receipt>;
    fn send(&self, id: String, event: NamedEvent, key: Option<String>) -> Doing<'_, Receipt>;
    fn cancel(&self, id: String, reason: Value) -> Doing<'_, Receipt>;
    fn retry(&self, id: String) -> Doing<'_, Receipt>;
    fn answer(&self, id: String, invoke: Option<String>, answer: PersonAnswer) -> Doing<'_, Receipt>;
    fn fork(&self, id: String, fork: Fork) -> Doing<'_, Receipt> {
        self.fork_within(id, fork, Value::Null)
    }
    fn fork_within(&self, id: String, fork: Fork, budget: Value) -> Doing<'_, Receipt>;
    fn settled(&self, id: String, patience: Duration) -> Doing<'_, Settled>;
    /// Everything that can be looked at, now or after any step.
    fn reader(&self) -> &Reader;
    /// The charts that can be started.
    fn library(&self) -> &Library;
    /// Changes whenever something may look different.
    fn changes(&self) -> watch::Receiver<u64>;
    /// What running calls tell meanwhile.
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

    fn answer(&self, id: String, invoke: Option<String>, answer: PersonAnswer) -> Doing<'_, Receipt> {
        Box::pin(async move { Host::answer(self, &id, invoke.as_deref(), answer).await })
    }

    fn fork_within(&self, id: String, fork: Fork, budget: Value) -> Doing<'_, Receipt> {
        Box::pin(async move { Host::fork_within(self, &id, fork, &budget).await })
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
