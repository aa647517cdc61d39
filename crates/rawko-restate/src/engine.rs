//! `RestateEngine`: acts on instances that remote workers host. Holds only the connection, so that a command, a server
//! or a page can come and go.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rawko_core::{NamedEvent, ServiceClass, ServiceName, Value};
use rawko_host::{
    Activity, CallProgress, Clock, Edition, Engine, Fork, HostError, HostFuture, Library, MigrationOrder,
    MigrationReport, PersonAnswer, Receipt, SettleReason, SnapshotReader, SystemClock, made_up_id,
};
use rawko_instance::{child_id, is_work};
use rawko_store::{ChartHash, EffectKind, WaitReason};
use serde::Serialize;
use tokio::sync::{broadcast, watch};

use crate::client::{HandlerTarget, Restate, RestateError};
use crate::follower::follow;
use crate::layout::{
    AnswerAsk, CHART, CancelAsk, ChartSource, DeliverAsk, ForkAsk, INSTANCE, ItemAsk, LiveState, PersonAsk,
    RestateReply, StartAsk, handler, hex,
};
use crate::store::RestateStore;
use crate::watcher::Watcher;

/// Polling interval of one instance while a caller waits for it to settle.
const SETTLE: Duration = Duration::from_millis(50);

/// Number of progress events a slow watcher may lag behind before it misses some.
const BEHIND_MAX: usize = 4_096;

/// The instances of a Restate server, as a user or a server sees them.
pub struct RestateEngine {
    inner: Arc<EngineInner>,
    library: Library,
    progress: broadcast::Sender<CallProgress>,
}

pub(crate) struct EngineInner {
    pub(crate) restate: Restate,
    pub(crate) store: Arc<RestateStore>,
    reader: SnapshotReader,
    pub(crate) changes: watch::Sender<u64>,
    /// Charts that this process has stored.
    put: Mutex<HashSet<ChartHash>>,
}

impl RestateEngine {
    /// Creates an engine. `library` holds the charts that can be started by name, and that take precedence over the
    /// workers' own when invoked. Must be called within a tokio runtime.
    pub fn new(restate: Restate, library: Library) -> Result<Self, RestateError> {
        let store = Arc::new(RestateStore::new(&restate)?);
        let reader = SnapshotReader::new(Arc::<RestateStore>::clone(&store));
        let (changes, put) = (watch::Sender::new(0), Mutex::default());
        let inner = Arc::new(EngineInner { restate, store, reader, changes, put });
        tokio::spawn(follow(Arc::downgrade(&inner)));
        Ok(Self { inner, library, progress: broadcast::Sender::new(1) })
    }

    /// Makes reads fail soon without a worker, for a server with many clients. Others wait for one.
    pub fn set_serving(&self) {
        self.inner.store.set_serving();
    }

    pub(crate) async fn ask<A: Serialize + Sync>(
        &self,
        id: &str,
        handler: &str,
        ask: &A,
    ) -> Result<Receipt, HostError> {
        self.inner.ask(id, handler, ask).await
    }

    /// Follows the live output of an instance and its descendants, which workers send while there is a receiver. Must be
    /// called within a tokio runtime.
    pub fn watch_output(&self, instance: &str) -> broadcast::Receiver<CallProgress> {
        let (sender, receiver) = broadcast::channel(BEHIND_MAX);
        tokio::spawn(Watcher::new(self.inner.restate.ingress(), instance).run(sender));
        receiver
    }

    /// Returns the activity of an instance and all of its descendants.
    pub async fn activity(&self, id: &str) -> Result<Activity, HostError> {
        let activity = self.inner.activity(id).await?;
        activity.ok_or_else(|| HostError::NoInstance(id.to_owned()))
    }

    pub(crate) async fn put_chart(&self, edition: &Edition) -> Result<(), HostError> {
        self.inner.put(edition).await
    }

    async fn start_new(
        &self,
        edition: Edition,
        input: Value,
        id: Option<String>,
        budget: Value,
    ) -> Result<Receipt, HostError> {
        let with = self.brought(&edition);
        for edition in with.iter().chain([&edition]) {
            self.inner.put(edition).await?;
        }
        let ask = StartAsk {
            chart: hex(&edition.chart.hash()),
            input,
            budget,
            with: with.iter().map(|edition| hex(&edition.chart.hash())).collect(),
        };
        self.first(edition.chart.id(), id, handler::START, &ask).await
    }

    /// Requests an instance with this id, or with a generated one that is free.
    async fn first<A: Serialize + Sync>(
        &self,
        chart: &str,
        id: Option<String>,
        handler: &str,
        ask: &A,
    ) -> Result<Receipt, HostError> {
        if let Some(id) = id {
            return self.ask(&id, handler, ask).await;
        }
        loop {
            match self.ask(&made_up_id(chart), handler, ask).await {
                Err(HostError::Exists(_)) => {}
                outcome => return outcome,
            }
        }
    }

    /// Returns the charts of this library that a chart invokes, directly or indirectly: an instance keeps using them.
    fn brought(&self, edition: &Edition) -> Vec<Edition> {
        let mut brought: Vec<Edition> = Vec::new();
        let mut ahead = vec![edition.clone()];
        while let Some(edition) = ahead.pop() {
            for src in invoked(&edition) {
                // The workers may have the charts that are missing here.
                let Ok(found) = self.library.resolve(&src) else { continue };
                let hash = found.chart.hash();
                if brought.iter().all(|known| known.chart.hash() != hash) {
                    brought.push(found.clone());
                    ahead.push(found);
                }
            }
        }
        brought
    }

    async fn wait(&self, id: &str, patience: Duration) -> Result<SettleReason, HostError> {
        loop {
            let activity = self.activity(id).await?;
            if let Some(settled) = activity.settled(SystemClock.now_ms(), patience) {
                return Ok(settled);
            }
            tokio::time::sleep(SETTLE).await;
        }
    }
}

/// Returns the charts that a chart names in its invokes.
fn invoked(edition: &Edition) -> Vec<String> {
    let nodes = edition.chart.node_ids().map(|node| edition.chart.node(node));
    let sources = nodes.flat_map(|node| node.invokes.iter().map(|(_, src)| Arc::clone(src)));
    sources.filter_map(|src| ServiceName::member_of(&src, ServiceClass::Chart).map(str::to_owned)).collect()
}

impl EngineInner {
    async fn ask<A: Serialize + Sync>(&self, id: &str, handler: &str, ask: &A) -> Result<Receipt, HostError> {
        let target = HandlerTarget::object(INSTANCE, id, handler);
        let reply: RestateReply = self.restate.ingress().call(&target, ask).await?;
        let receipt = reply?;
        self.store.expect(&receipt.instance, receipt.step);
        self.changes.send_modify(|count| *count += 1);
        Ok(receipt)
    }

    async fn put(&self, edition: &Edition) -> Result<(), HostError> {
        let hash = edition.chart.hash();
        if self.put.lock().unwrap_or_else(PoisonError::into_inner).contains(&hash) {
            return Ok(());
        }
        let text = ChartSource::of(edition, SystemClock.now_ms());
        let target = HandlerTarget::object(CHART, &hex(&hash), handler::PUT);
        self.restate.ingress().call::<_, ()>(&target, &text).await?;
        self.put.lock().unwrap_or_else(PoisonError::into_inner).insert(hash);
        Ok(())
    }

    /// Returns `None` if the instance does not exist.
    async fn activity(&self, id: &str) -> Result<Option<Activity>, HostError> {
        let target = HandlerTarget::object(INSTANCE, id, handler::LOOK);
        let live: Option<LiveState> = self.restate.ingress().look(&target, &()).await?;
        let Some(live) = live else { return Ok(None) };
        self.store.expect(id, live.row.step);
        let running = |kind: EffectKind| is_work(kind) && kind != EffectKind::Child;
        let head = &live.row.head;
        let paused = head.wait == WaitReason::Paused;
        let mut activity = Activity {
            status: head.status,
            busy: live.row.to_itself > 0 || (!paused && live.open.iter().any(|effect| running(effect.kind))),
            paused,
            person: live.open.iter().any(|effect| effect.kind == EffectKind::Person),
            next_due_ms: head.next_due_ms,
            fault: head.fault.as_deref().map(str::to_owned),
        };
        for effect in live.open.iter().filter(|effect| effect.kind == EffectKind::Child) {
            let child = child_id(&live.row.new.id, effect);
            activity.add_child(Box::pin(self.activity(&child)).await?);
        }
        Ok(Some(activity))
    }
}

impl Engine for RestateEngine {
    fn start(
        &self,
        edition: Edition,
        input: Value,
        id: Option<String>,
        budget: Value,
    ) -> HostFuture<'_, Receipt> {
        Box::pin(self.start_new(edition, input, id, budget))
    }

    fn send(&self, id: String, event: NamedEvent, key: Option<String>) -> HostFuture<'_, Receipt> {
        let ask = DeliverAsk { event, key: key.map(Into::into) };
        Box::pin(async move { self.ask(&id, handler::DELIVER, &ask).await })
    }

    fn cancel(&self, id: String, reason: Value) -> HostFuture<'_, Receipt> {
        Box::pin(async move { self.ask(&id, handler::CANCEL, &CancelAsk { reason }).await })
    }

    fn retry(&self, id: String) -> HostFuture<'_, Receipt> {
        Box::pin(async move { self.ask(&id, handler::RETRY, &()).await })
    }

    fn retry_item(&self, id: String, item: String) -> HostFuture<'_, Receipt> {
        let ask = ItemAsk { item: item.into() };
        Box::pin(async move { self.ask(&id, handler::RETRY_ITEM, &ask).await })
    }

    fn pause(&self, id: String, by: Value) -> HostFuture<'_, Receipt> {
        Box::pin(async move { self.ask(&id, handler::PAUSE, &PersonAsk { by }).await })
    }

    fn resume(&self, id: String, by: Value) -> HostFuture<'_, Receipt> {
        Box::pin(async move { self.ask(&id, handler::RESUME, &PersonAsk { by }).await })
    }

    fn answer(&self, id: String, invoke: Option<String>, answer: PersonAnswer) -> HostFuture<'_, Receipt> {
        let PersonAnswer { approved, by, claimed, asked_ms, comment, data } = answer;
        let ask = AnswerAsk { invoke, approved, by, claimed, asked_ms, comment, data };
        Box::pin(async move { self.ask(&id, handler::ANSWER, &ask).await })
    }

    fn fork_within(&self, id: String, fork: Fork, budget: Value) -> HostFuture<'_, Receipt> {
        let Fork { at, set, id: new } = fork;
        Box::pin(async move {
            // The fork is named after the chart, as on any host.
            let row = self.inner.row(id.clone()).await?;
            let ask = ForkAsk { from: id, at, set, budget };
            self.first(&row.new.chart_id, new, handler::FORK, &ask).await
        })
    }

    fn migrate(
        &self,
        ids: Vec<String>,
        order: MigrationOrder,
        by: Value,
    ) -> HostFuture<'_, Vec<MigrationReport>> {
        Box::pin(self.migrate_all(ids, order, by))
    }

    fn settled(&self, id: String, patience: Duration) -> HostFuture<'_, SettleReason> {
        Box::pin(async move { self.wait(&id, patience).await })
    }

    fn reader(&self) -> &SnapshotReader {
        &self.inner.reader
    }

    fn library(&self) -> &Library {
        &self.library
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    /// Calls run in workers; [`RestateEngine::watch_output`] follows one instance.
    fn progress(&self) -> broadcast::Receiver<CallProgress> {
        self.progress.subscribe()
    }
}

impl EngineInner {
    async fn row(&self, id: String) -> Result<rawko_store::InstanceRow, HostError> {
        let target = HandlerTarget::object(INSTANCE, &id, handler::LOOK);
        let live: Option<LiveState> = self.restate.ingress().look(&target, &()).await?;
        Ok(live.ok_or(HostError::NoInstance(id))?.row.into())
    }
}
