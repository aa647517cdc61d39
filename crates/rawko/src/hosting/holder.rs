//! `HolderEngine`: the host in another process of this machine as an `Engine`, over its socket. `rawko mcp` uses it while
//! `rawko serve` runs. Each request has its own connection, because one that waits holds up those behind it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rawko_core::{NamedEvent, Value};
use rawko_host::{
    Activity, CallProgress, Edition, Engine, Fork, HostError, HostFuture, Library, MigrationOrder,
    MigrationReport, PersonAnswer, Receipt, SettleReason, SnapshotReader,
};
use tokio::sync::{broadcast, watch};

use super::access::HostAccess;
use super::client::{NoAnswer, SocketClient};
use super::project_context::ProjectContext;
use super::protocol::{HostAnswer, LoadedChart, RequestRefusal, Rest, SocketRequest};
use crate::authority::Operator;
use crate::failure::CommandFailure;

/// How often readers of changes look again.
const BEAT: Duration = Duration::from_millis(500);

pub(crate) struct HolderEngine {
    socket: PathBuf,
    operator: Operator,
    reader: SnapshotReader,
    library: Library,
    changes: watch::Receiver<u64>,
    progress: broadcast::Sender<CallProgress>,
}

impl HostAccess {
    /// Returns the engine of the process that holds the store.
    pub(crate) fn holder(&self, place: &ProjectContext) -> Result<Arc<dyn Engine>, CommandFailure> {
        let library = place.library();
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
    async fn ask(&self, request: SocketRequest) -> Result<HostAnswer, HostError> {
        let asked = async { SocketClient::connect(&self.socket, &self.operator).await?.ask(&request).await };
        match asked.await {
            Ok(answer) => Ok(answer),
            Err(NoAnswer::Gone) => Err(HostError::Closing),
            Err(NoAnswer::Refused(failure)) => Err(HostError::Refused(RequestRefusal::from(failure).message)),
        }
    }

    fn receipt(&self, request: SocketRequest) -> HostFuture<'_, Receipt> {
        Box::pin(async move {
            match self.ask(request).await? {
                HostAnswer::Receipt(receipt) => Ok(receipt),
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
        self.receipt(SocketRequest::Start { charts: vec![LoadedChart::from(&edition)], input, id, budget })
    }

    fn send(&self, id: String, event: NamedEvent, key: Option<String>) -> HostFuture<'_, Receipt> {
        self.receipt(SocketRequest::Send { id, event: event.name.to_string(), data: event.data, key })
    }

    fn cancel(&self, id: String, reason: Value) -> HostFuture<'_, Receipt> {
        self.receipt(SocketRequest::Cancel { id, reason })
    }

    fn retry(&self, id: String) -> HostFuture<'_, Receipt> {
        self.receipt(SocketRequest::Retry { id })
    }

    fn retry_item(&self, id: String, item: String) -> HostFuture<'_, Receipt> {
        self.receipt(SocketRequest::RetryItem { id, item })
    }

    fn pause(&self, id: String, _: Value) -> HostFuture<'_, Receipt> {
        self.receipt(SocketRequest::Pause { id })
    }

    fn resume(&self, id: String, _: Value) -> HostFuture<'_, Receipt> {
        self.receipt(SocketRequest::Resume { id })
    }

    fn answer(&self, id: String, invoke: Option<String>, answer: PersonAnswer) -> HostFuture<'_, Receipt> {
        let PersonAnswer { approved, by, asked_ms, comment, data, .. } = answer;
        self.receipt(SocketRequest::Answer { id, ask: invoke, asked_ms, approved, by, comment, data })
    }

    fn fork_within(&self, _: String, _: Fork, _: Value) -> HostFuture<'_, Receipt> {
        Box::pin(async { Err(HostError::Refused("forking needs `rawko fork`".to_owned())) })
    }

    fn migrate(&self, _: Vec<String>, _: MigrationOrder, _: Value) -> HostFuture<'_, Vec<MigrationReport>> {
        Box::pin(async { Err(HostError::Refused("migrating needs `rawko migrate`".to_owned())) })
    }

    fn settled(&self, id: String, patience: Duration) -> HostFuture<'_, SettleReason> {
        let patience_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        Box::pin(async move {
            match self.ask(SocketRequest::Settle { id, patience_ms }).await? {
                HostAnswer::Settled(Rest::Over(status)) => Ok(SettleReason::Over(status)),
                HostAnswer::Settled(Rest::Failed) => Ok(SettleReason::Failed),
                HostAnswer::Settled(Rest::Waiting) => Ok(SettleReason::Waiting(Activity::default())),
                HostAnswer::Settled(Rest::Paused) => Ok(SettleReason::Paused),
                HostAnswer::Settled(Rest::Stuck { message, .. }) => Err(HostError::Refused(message)),
                _ => Err(unexpected()),
            }
        })
    }

    fn reader(&self) -> &SnapshotReader {
        &self.reader
    }

    fn library(&self) -> &Library {
        &self.library
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }

    fn progress(&self) -> broadcast::Receiver<CallProgress> {
        self.progress.subscribe()
    }
}
