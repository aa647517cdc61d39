//! `Worker`: a process that takes steps and runs effects for Restate. It holds no state: any worker can serve any
//! instance, and its caches hold only immutable data.

mod apply_outcome;
mod audit;
mod blobs;
mod calls;
mod chart;
mod charts;
mod commit_plan;
mod environment;
mod family;
mod index;
mod indexer;
mod instance;
mod migrate;
mod outcome;
mod publisher;
mod queue;
#[cfg(test)]
mod shapes;
mod shard;
mod state;
mod stream;
mod take;
mod work;

use std::future::Future;
use std::sync::Arc;

use rawko_core::World;
use rawko_host::{AgentResolver, CallProgress, Clock, Edition, Gate, HostProject, Observer, Services};
use rawko_instance::InstanceLimits;
use restate_sdk::endpoint::Endpoint;
use restate_sdk::http_server::HttpServer;
use tokio::net::TcpListener;
use tokio::sync::broadcast;

use crate::client::{Restate, RestateError};
use crate::store::RestateStore;
use chart::ChartObject;
use family::FamilyObject;
use index::IndexObject;
use indexer::Indexer;
use instance::InstanceObject;
use publisher::Publisher;
use state::WorkerState;
use stream::StreamObject;
use work::WorkService;

/// The reason that a worker cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The store of the worker could not be created.
    #[error(transparent)]
    Client(#[from] RestateError),
    /// Requests could not be restricted to a signing key.
    #[error("`{key}` is not a public key of a Restate server: {why}")]
    IdentityKey {
        /// The key as configured.
        key: String,
        /// The error of the Restate SDK.
        why: String,
    },
}

/// The parts of a worker. Defaults: no services, and a gate that denies every call.
#[derive(Default)]
pub struct WorkerBuilder {
    project: HostProject,
    identity_key: Option<String>,
    observer: Option<Arc<dyn Observer>>,
    clock: Option<Arc<dyn Clock>>,
}

/// Takes steps and runs effects.
pub struct Worker {
    state: Arc<WorkerState>,
    endpoint: Endpoint,
}

impl WorkerBuilder {
    /// Adds a chart that can be invoked, and started by name.
    #[must_use]
    pub fn chart(self, edition: Edition) -> Self {
        self.project.library.offer(edition);
        self
    }

    /// Sets the services that invokes and calls can name.
    #[must_use]
    pub fn services(mut self, services: Services) -> Self {
        self.project.services = services;
        self
    }

    /// Sets the targets of `send` other than instances.
    #[must_use]
    pub fn endpoints(mut self, endpoints: Services) -> Self {
        self.project.endpoints = endpoints;
        self
    }

    /// Sets the gate that allows or denies each call.
    #[must_use]
    pub fn gate(mut self, gate: Gate) -> Self {
        self.project.gate = gate;
        self
    }

    /// Sets the resolver of agents. Without one, `agent:` names are services.
    #[must_use]
    pub fn agents(mut self, agents: Arc<dyn AgentResolver>) -> Self {
        self.project.agents = Some(agents);
        self
    }

    /// Sets the values that expressions see as `env` and `agents`.
    #[must_use]
    pub fn world(mut self, world: World) -> Self {
        self.project.world = world;
        self
    }

    /// Sets the limits that no chart may exceed.
    #[must_use]
    pub fn limits(mut self, limits: InstanceLimits) -> Self {
        self.project.limits = limits;
        self
    }

    /// Sets the receiver of observations of this worker's steps and calls.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Sets the clock of steps; the system's by default. Restate keeps the time of the system, so with another clock its
    /// timers rest: an instance handles due timers with its next input.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Accepts only requests signed with this key (`publickeyv1_…`).
    #[must_use]
    pub fn identity_key(mut self, key: Option<String>) -> Self {
        self.identity_key = key;
        self
    }

    /// Builds a worker for this server, without connecting or registering.
    pub fn build(self, restate: &Restate) -> Result<Worker, WorkerError> {
        let store = Arc::new(RestateStore::new(restate)?);
        let state = Arc::new(WorkerState::new(
            self.project,
            restate.ingress().clone(),
            store,
            self.observer,
            self.clock,
        ));
        let mut endpoint = Endpoint::builder()
            .bind(InstanceObject { state: Arc::clone(&state) })
            .bind(ChartObject { state: Arc::clone(&state) })
            .bind(WorkService { state: Arc::clone(&state) })
            .bind(StreamObject)
            .bind(FamilyObject)
            .bind(IndexObject);
        if let Some(key) = self.identity_key {
            endpoint = endpoint
                .identity_key(&key)
                .map_err(|error| WorkerError::IdentityKey { key, why: error.to_string() })?;
        }
        Ok(Worker { state, endpoint: endpoint.build() })
    }
}

impl Worker {
    /// Returns a builder with the defaults of [`WorkerBuilder`].
    pub fn builder() -> WorkerBuilder {
        WorkerBuilder::default()
    }

    /// Returns the progress events of calls in this process. Those of other workers are not available.
    pub fn progress(&self) -> broadcast::Receiver<CallProgress> {
        self.state.watchers.subscribe()
    }

    /// Serves until `stop`, then waits a few seconds for open requests. Unfinished ones are repeated by another worker,
    /// or by this one after a restart.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()>) {
        let indexer = Indexer::new(&self.state);
        // While it still answers, because the index may need this worker.
        let stop = async {
            stop.await;
            indexer.leave().await;
        };
        let serving = HttpServer::new(self.endpoint).serve_with_cancel(listener, stop);
        tokio::select! {
            () = serving => {}
            () = Publisher::new(&self.state).run() => {}
            () = indexer.run() => {}
            () = Arc::clone(&self.state.queue).run() => {}
        }
    }
}
