//! `WorkerState`: the shared state of a worker. Charts and blobs never change, so caching them is safe; everything else is in
//! Restate.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use rawko_host::{
    CallProgress, Clock, HostError, HostEvent, HostProject, Observer, SnapshotReader, SystemClock,
};
use rawko_store::StoreError;
use tokio::sync::broadcast;

use super::blobs::Blobs;
use super::calls::WorkerCalls;
use super::charts::WorkerCharts;
use super::queue::IndexQueue;
use crate::client::{Ingress, RestateError};
use crate::store::RestateStore;

/// Number of events a slow watcher may lag behind before it misses some.
const BEHIND_MAX: usize = 4_096;

pub(super) struct WorkerState {
    pub(super) project: HostProject,
    pub(super) ingress: Ingress,
    pub(super) store: Arc<RestateStore>,
    pub(super) reader: SnapshotReader,
    pub(super) charts: WorkerCharts,
    pub(super) blobs: Blobs,
    pub(super) calls: WorkerCalls,
    /// Steps on their way to the index.
    pub(super) queue: Arc<IndexQueue>,
    pub(super) watchers: broadcast::Sender<CallProgress>,
    pub(super) observer: Option<Arc<dyn Observer>>,
    /// The clock of steps, if it is not the system's.
    clock: Option<Arc<dyn Clock>>,
    /// Unique for each start of a worker.
    pub(super) boot: String,
}

/// Converts client errors to transient ones: the caller is being invoked by the same server, so a missing object or a
/// refusal is temporary, as after a registration that not every node has seen, or while a leader moves.
pub(super) fn passing(error: RestateError) -> HostError {
    match error {
        RestateError::Missing(_) | RestateError::Refused { .. } => {
            HostError::Store(StoreError::Io(error.to_string()))
        }
        error => error.into(),
    }
}

impl WorkerState {
    pub(super) fn new(
        project: HostProject,
        ingress: Ingress,
        store: Arc<RestateStore>,
        observer: Option<Arc<dyn Observer>>,
        clock: Option<Arc<dyn Clock>>,
    ) -> Self {
        let now_ms = SystemClock.now_ms();
        Self {
            project,
            charts: WorkerCharts::new(ingress.clone()),
            blobs: Blobs::new(ingress.clone()),
            queue: Arc::new(IndexQueue::new(&ingress)),
            ingress,
            reader: SnapshotReader::new(Arc::<RestateStore>::clone(&store)),
            store,
            calls: WorkerCalls::default(),
            watchers: broadcast::Sender::new(BEHIND_MAX),
            observer,
            clock,
            boot: format!("{now_ms}-{:016x}", RandomState::new().hash_one(now_ms)),
        }
    }

    pub(super) fn tell(&self, observations: impl IntoIterator<Item = HostEvent>) {
        if let Some(observer) = &self.observer {
            observations.into_iter().for_each(|observation| observer.observe(observation));
        }
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.clock.as_ref().map_or_else(|| SystemClock.now_ms(), |clock| clock.now_ms())
    }

    /// Returns true if Restate's timers are due when those of instances are.
    pub(super) fn has_timers(&self) -> bool {
        self.clock.is_none()
    }
}
