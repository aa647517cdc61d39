//! `HolderEngine`: the host in another process of this machine as an `Engine`, over its socket. `rawko mcp` uses it while
//! `rawko serve` runs. Each request has its own connection, because one that waits holds up those behind it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rawko_core::{NamedEvent, Value};
use rawko_host::{
    Activity, Edition, Engine, Fork, HostError, HostFuture, Library, MigrationOrder, MigrationReport,
    PersonAnswer, Progress, Reader, Receipt, Settled,
};
use tokio::sync::{broadcast, watch};

use super::access::Access;
use super::client::{Client, NoAnswer};
use super::project_context::ProjectContext;
use super::protocol::{Answer, ChartText, Refusal, Request, Rest};
use crate::authority::Operator;
use crate::failure::Failure;

/// How often readers of changes look again.
const BEAT: Duration = Duration::from_millis(500);

pub(crate) struct HolderEngine {
    socket: PathBuf,
    operator: Operator,
    reader: Reader,
    library: Library,
    changes: watch::Receiver<u64>,
    progress: broadcast::Sender<Progress>,
}

impl Access {
    /// Returns the engine of the process that holds the store.
    pub(crate) fn holder(&self, place: &ProjectContext) -> Result<Arc<dyn Engine>, Failure> {
        let library = Library::default();
        place.offered().into_iter().for_each(|edition| library.offer(edition));
        place.insist_on_same_files()?;
        let (beat, changes) = watch::channel(0);
        // Ends with the last receiver.
        tokio::spawn(async move {
            let mut count = 0_u64;
            while beat.send(count).is_ok() {
                count = count.wrapping_add(1);
                tokio::time::sleep(BEAT).await;
            }
        });
        Ok(Arc::new(HolderEngine {
            socket: place.socket()?,
            operator: place.operator()?,
            reader: self.reader(),
            library,
            changes,
            progress: broadcast::Sender::new(1),
        }))
    }
}

impl HolderEngine {
    async fn ask(&self, request: Request) -> Result<Answer, HostError> {
        let asked = async { Client::connect(&self.socket, &self.operator).await?.ask(&request).await };
        match asked.await {
            Ok(answer) => Ok(answer),
            Err(NoAnswer::Gone) => Err(HostError::Closing),
            Err(NoAnswer::Refused(failure)) => Err(HostError::Refused(Refusal::from(failure).message)),
        }
    }

    fn receipt(&self, request: Request) -> HostFuture<'_, Receipt> {
        Box::pin(async move {
            match self.ask(request).await? {
                Answer::Receipt(receipt) => Ok(receipt),
                _ => Err(unexpected()),
            }
        })
    }
}

fn unexpected() -> HostError {
    HostError::Refused("unexpected response from the host".to_owned())
}

impl Engine for HolderEngine {
    fn start(
        &self,
        edition: Edition,
        input: Value,
        id: Option<String>,
        budget: Value,
    ) -> HostFuture<'_, Receipt> {
        self.receipt(Request::Start { charts: vec![ChartText::from(&edition)], input, id, budget })
    }

    fn send(&self, id: String, event: NamedEvent, key: Option<String>) -> HostFuture<'_, Receipt> {
        self.receipt(Request::Send { id, event: event.name.to_string(), data: event.data, key })
    }

    fn cancel(&self, id: String, reason: Value) -> HostFuture<'_, Receipt> {
        self.receipt(Request::Cancel { id, reason })
    }

    fn retry(&self, id: String) -> HostFuture<'_, Receipt> {
        self.receipt(Request::Retry { id })
    }

    fn retry_item(&self, id: String, item: String) -> HostFuture<'_, Receipt> {
        self.receipt(Request::RetryItem { id, item })
    }

    fn pause(&self, id: String, _: Value) -> HostFuture<'_, Receipt> {
        self.receipt(Request::Pause { id })
    }

    fn resume(&self, id: String, _: Value) -> HostFuture<'_, Receipt> {
        self.receipt(Request::Resume { id })
    }

    fn answer(&self, id: String, invoke: Option<String>, answer: PersonAnswer) -> HostFuture<'_, Receipt> {
        let PersonAnswer { approved, by, asked_ms, comment, data, .. } = answer;
        self.receipt(Request::Answer { id, ask: invoke, asked_ms, approved, by, comment, data })
    }

    fn fork_within(&self, _: String, _: Fork, _: Value) -> HostFuture<'_, Receipt> {
        Box::pin(async { Err(HostError::Refused("forking needs `rawko fork`".to_owned())) })
    }

    fn migrate(&self, _: Vec<String>, _: MigrationOrder, _: Value) -> HostFuture<'_, Vec<MigrationReport>> {
        Box::pin(async { Err(HostError::Refused("migrating needs `rawko migrate`".to_owned())) })
    }

    fn settled(&self, id: String, patience: Duration) -> HostFuture<'_, Settled> {
        let patience_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        Box::pin(async move {
            match self.ask(Request::Settle { id, patience_ms }).await? {
                Answer::Settled(Rest::Over(status)) => Ok(Settled::Over(status)),
                Answer::Settled(Rest::Failed) => Ok(Settled::Failed),
                Answer::Settled(Rest::Waiting) => Ok(Settled::Waiting(Activity::default())),
                Answer::Settled(Rest::Paused) => Ok(Settled::Paused),
                Answer::Settled(Rest::Stuck { message, .. }) => Err(HostError::Refused(message)),
                _ => Err(unexpected()),
            }
        })
    }

    fn reader(&self) -> &Reader {
        &self.reader
    }

    fn library(&self) -> &Library {
        &self.library
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }

    fn progress(&self) -> broadcast::Receiver<Progress> {
        self.progress.subscribe()
    }
}
