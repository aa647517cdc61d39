//! `HostBuilder`: assembles a host from a store, charts, services and a gate. Starting it resumes the instances in the
//! store.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize};
use std::sync::{Arc, Mutex};

use rawko_core::World;
use rawko_instance::{AgentResolver, Gate, InstanceLimits};
use rawko_store::{CommitWriter, MemoryStore, Store};
use tokio::sync::watch;

use crate::clock::{Clock, SteadyClock};
use crate::driver::deadlines::{self, Deadlines};
use crate::driver::dispatch::{self, Dispatch};
use crate::driver::instances::{Instances, MemoryLimit};
use crate::driver::scope::HostScope;
use crate::error::HostError;
use crate::host::{Host, HostInner};
use crate::library::{DeferredEdition, Edition};
use crate::observer::Observer;
use crate::progress;
use crate::project::HostProject;
use crate::reader::SnapshotReader;
use crate::services::Services;

/// The parts of a host. Defaults: a store in memory, no services, and a gate that denies every call.
pub struct HostBuilder {
    store: Arc<dyn Store>,
    project: HostProject,
    observer: Option<Arc<dyn Observer>>,
    clock: Option<Arc<dyn Clock>>,
    in_memory_max: Option<usize>,
    scope: HostScope,
}

impl Host {
    /// Creates a builder with a store in memory, no charts, no services and a gate that denies every call.
    pub fn builder() -> HostBuilder {
        HostBuilder {
            store: Arc::new(MemoryStore::new()),
            project: HostProject::default(),
            observer: None,
            clock: None,
            in_memory_max: None,
            scope: HostScope::all(),
        }
    }
}

impl HostBuilder {
    /// Sets the store; instances in it resume on start.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = store;
        self
    }

    /// Adds a chart that can be started and invoked.
    #[must_use]
    pub fn chart(self, edition: Edition) -> Self {
        self.project.library.offer(edition);
        self
    }

    /// Adds a chart that is read when it is needed.
    #[must_use]
    pub fn deferred_chart(self, chart: DeferredEdition) -> Self {
        self.project.library.offer_deferred(chart);
        self
    }

    /// Sets the services that charts may invoke.
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

    /// Sets the rules about the services that may be called.
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

    /// Sets the bounds on recursion and runaway loops.
    #[must_use]
    pub fn limits(mut self, limits: InstanceLimits) -> Self {
        self.project.limits = limits;
        self
    }

    /// Sets the receiver of observations (commits, calls, completions).
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Sets the values that expressions see as `env` and `agents`.
    #[must_use]
    pub fn world(mut self, world: World) -> Self {
        self.project.world = world;
        self
    }

    /// Sets the clock, for tests that control the time.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Sets the number of instances kept in memory; the others stay on disk until they get an input. By default 1,024
    /// stay, and more of them as long as all together take about 64 MiB.
    #[must_use]
    pub fn in_memory_max(mut self, instances: impl Into<Option<usize>>) -> Self {
        self.in_memory_max = instances.into();
        self
    }

    /// Drives only instances that this host starts or is asked about, with their ancestors and descendants. All others
    /// stay as they are in the store. By default a host drives every instance that is not paused.
    #[must_use]
    pub fn only_requested(mut self) -> Self {
        self.scope = HostScope::requested();
        self
    }

    /// Reports the roots of the instances that the host drives, whenever there are more.
    #[must_use]
    pub fn watch_requested(mut self, watch: impl Fn(&[Arc<str>]) + Send + Sync + 'static) -> Self {
        self.scope.watch = Some(Box::new(watch));
        self
    }

    /// Starts the host within the current tokio runtime and resumes the instances in the store.
    pub async fn start(self) -> Result<Host, HostError> {
        let marks = self.store.marks()?;
        let clock = match self.clock {
            Some(clock) => clock,
            None => Arc::new(SteadyClock::new(last_record_ms(&*self.store)?)),
        };
        let (dispatch, jobs) = Dispatch::new();
        let inner = Arc::new(HostInner {
            writer: CommitWriter::new(Arc::clone(&self.store)),
            reader: SnapshotReader::with_library(Arc::clone(&self.store), Arc::clone(&self.project.library)),
            store: self.store,
            project: self.project,
            observer: self.observer,
            watchers: progress::watchers(),
            clock,
            instances: Instances::default(),
            memory_limit: MemoryLimit::new(self.in_memory_max),
            deadlines: Arc::new(Deadlines::default()),
            dispatch,
            runtime: tokio::runtime::Handle::current(),
            running: Mutex::new(HashMap::new()),
            draining: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            unbegun: Mutex::new(Vec::new()),
            changes: watch::Sender::new(0),
            trouble: Mutex::new(None),
            in_trouble: AtomicBool::new(false),
            complaints: Mutex::new(Vec::new()),
            unperformed: AtomicUsize::new(0),
            endings: AtomicUsize::new(0),
            endings_begun: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            next_key: AtomicI64::new(marks.instance + 1),
            next_inbound: AtomicI64::new(marks.inbound + 1),
            scope: self.scope,
        });
        dispatch::spawn(&inner, jobs).map_err(|error| HostError::Thread(error.to_string()))?;
        inner.recover()?;
        inner.look_for_damage();
        tokio::spawn(deadlines::watch(Arc::downgrade(&inner), Arc::clone(&inner.deadlines)));
        Ok(Host { inner })
    }
}

/// Returns the time of the newest record in the store.
fn last_record_ms(store: &dyn Store) -> Result<i64, HostError> {
    let last = store.tail(store.last_seq()?.saturating_sub(1), 1)?;
    Ok(last.first().map_or(0, |record| record.at_ms))
}
