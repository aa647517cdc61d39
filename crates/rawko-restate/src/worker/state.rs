//! `WorkerState`: the shared state of a worker. Charts and blobs never change, so caching them is safe; everything else is in
//! Restate.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use rawko_host::{Clock, HostError, Observation, Observer, Progress, Project, Reader, SystemClock};
use rawko_store::StoreError;
use tokio::sync::broadcast;

use super::blobs::Blobs;
use super::calls::Calls;
use super::charts::Charts;
use crate::client::{ClientError, Ingress};
use crate::store::RestateStore;

/// Number of events a slow watcher may lag behind before it misses some.
const BEHIND_MAX: usize = 4_096;

pub(super) struct WorkerState {
    pub(super) project: Project,
    pub(super) ingress: Ingress,
    pub(super) reader: Reader,
    pub(super) charts: Charts,
    pub(super) blobs: Blobs,
    pub(super) calls: Calls,
    pub(super) watchers: broadcast::Sender<Progress>,
    pub(super) observer: Option<Arc<dyn Observer>>,
    /// Unique for each start of a worker.
    pub(super) boot: String,
}

/// Converts client errors to transient ones: the caller is being invoked by the same server, so a missing object or a
/// refusal is temporary, as after a registration that not every node has seen, or while a leader moves.
pub(super) fn passing(error: ClientError) -> HostError {
    match error {
        ClientError::Missing(_) | ClientError::Refused { .. } => {
            HostError::Store(StoreError::Io(error.to_string()))
        }
        error => error.into(),
    }
}

impl WorkerState {
    pub(super) fn new(
        project: Project,
        ingress: Ingress,
        store: Arc<RestateStore>,
        observer: Option<Arc<dyn Observer>>,
    ) -> Self {
        let now_ms = SystemClock.now_ms();
        Self {
            project,
            charts: Charts::new(ingress.clone()),
            blobs: Blobs::new(ingress.clone()),
            ingress,
            reader: Reader::new(store),
            calls: Calls::default(),
            watchers: broadcast::Sender::new(BEHIND_MAX),
            observer,
            boot: format!("{now_ms}-{:016x}", RandomState::new().hash_one(now_ms)),
        }
    }

    pub(super) fn tell(&self, observations: impl IntoIterator<Item = Observation>) {
        if let Some(observer) = &self.observer {
            observations.into_iter().for_each(|observation| observer.observe(observation));
        }
    }

    pub(super) fn now_ms(&self) -> i64 {
        SystemClock.now_ms()
    }
}
