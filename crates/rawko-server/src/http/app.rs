//! `App`: what every handler can reach. Cheap to clone.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use rawko_core::World;
use rawko_host::{Clock, Engine, Reader, SystemClock};
use rawko_telemetry::{Logs, Metrics};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::access::Access;
use super::charts::Shelf;
use super::limits::{Answers, Buckets, Patience};
use super::live::Live;
use super::problem::{Problem, ProblemCode};
use super::project::{NoProject, Project};
use super::settings::ServerSettings;
use crate::agents::Gatekeeper;
use crate::serving::Serving;
use crate::tokens::Tokens;

/// Event streams at a time.
const STREAMS_MAX: usize = 10_000;

/// What to serve.
pub struct AppOptions {
    pub engine: Arc<dyn Engine>,
    /// What expressions see besides context and event.
    pub world: World,
    pub clock: Arc<dyn Clock>,
    pub version: &'static str,
    /// `None`: this server has no channels, and no socket for agents.
    pub channels: Option<Arc<Serving>>,
    pub project: Arc<dyn Project>,
    pub tokens: Tokens,
    pub settings: ServerSettings,
    pub patience: Patience,
    /// What `/metrics` says, and where requests are counted.
    pub metrics: Option<Arc<Metrics>>,
    /// Where it is said what went wrong inside.
    pub logs: Option<Arc<Logs>>,
}

impl AppOptions {
    /// A host and nothing else: no project around it, no channels, nobody to keep out.
    pub fn new(engine: Arc<dyn Engine>) -> AppOptions {
        AppOptions {
            engine,
            world: World::default(),
            clock: Arc::new(SystemClock),
            version: env!("CARGO_PKG_VERSION"),
            channels: None,
            project: Arc::new(NoProject),
            tokens: Tokens::default(),
            settings: ServerSettings::default(),
            patience: Patience::default(),
            metrics: None,
            logs: None,
        }
    }
}

/// What handlers share.
#[derive(Clone)]
pub struct App {
    inner: Arc<Inner>,
}

struct Inner {
    options: AppOptions,
    access: Access,
    gate: Option<Gatekeeper>,
    buckets: Buckets,
    answers: Answers,
    live: Live,
    shelf: Shelf,
    streams: Arc<Semaphore>,
    closing: watch::Sender<bool>,
    since: Instant,
}

impl App {
    /// `address`: where it listens, which decides whom it trusts.
    pub fn new(options: AppOptions, address: SocketAddr) -> App {
        let access = Access::new(options.tokens.clone(), &options.settings, address);
        let inner = Inner {
            access,
            gate: options.channels.as_ref().map(|channels| channels.gatekeeper()),
            buckets: Buckets::new(options.settings.rate),
            answers: Answers::default(),
            live: Live::default(),
            shelf: Shelf::default(),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            closing: watch::Sender::new(false),
            since: Instant::now(),
            options,
        };
        App { inner: Arc::new(inner) }
    }

    pub(crate) fn engine(&self) -> &Arc<dyn Engine> {
        &self.inner.options.engine
    }

    pub(crate) fn reader(&self) -> &Reader {
        self.engine().reader()
    }

    pub(crate) fn world(&self) -> &World {
        &self.inner.options.world
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.inner.options.clock.now_ms()
    }

    pub(crate) fn version(&self) -> &'static str {
        self.inner.options.version
    }

    pub(crate) fn project(&self) -> &Arc<dyn Project> {
        &self.inner.options.project
    }

    /// The channels, where this server has any.
    pub(crate) fn channels(&self) -> Result<&Arc<Serving>, Problem> {
        let none = || Problem::new(ProblemCode::Unavailable, "this server has no channels");
        self.inner.options.channels.as_ref().ok_or_else(none)
    }

    /// Who lets agents in.
    pub(crate) fn gate(&self) -> Result<&Gatekeeper, Problem> {
        let none = || Problem::new(ProblemCode::Unavailable, "this server has no channels");
        self.inner.gate.as_ref().ok_or_else(none)
    }

    pub(crate) fn patience(&self) -> Patience {
        self.inner.options.patience
    }

    pub(crate) fn metrics(&self) -> Option<&Arc<Metrics>> {
        self.inner.options.metrics.as_ref()
    }

    pub(crate) fn logs(&self) -> Option<&Arc<Logs>> {
        self.inner.options.logs.as_ref()
    }

    pub(crate) fn access(&self) -> &Access {
        &self.inner.access
    }

    pub(crate) fn buckets(&self) -> &Buckets {
        &self.inner.buckets
    }

    pub(crate) fn answers(&self) -> &Answers {
        &self.inner.answers
    }

    /// What is known about charts.
    pub(crate) fn shelf(&self) -> &Shelf {
        &self.inner.shelf
    }

    pub(crate) fn uptime_ms(&self) -> u64 {
        u64::try_from(self.inner.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Whoever reads for all event streams.
    pub(crate) fn live(&self) -> &Live {
        &self.inner.live
    }

    /// A place for an event stream, held as long as it lasts.
    pub(crate) fn stream(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let full = |_| Problem::new(ProblemCode::TooManyStreams, "too many event streams are open already");
        Arc::clone(&self.inner.streams).try_acquire_owned().map_err(full)
    }

    /// Becomes true when the server closes: streams end then.
    pub(crate) fn closing(&self) -> watch::Receiver<bool> {
        self.inner.closing.subscribe()
    }

    pub(crate) fn close(&self) {
        self.inner.closing.send_replace(true);
    }

    /// Reads the store, which blocks, where that hurts nobody.
    pub(crate) async fn read<T, E>(
        &self,
        work: impl FnOnce(&App) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Problem>
    where
        T: Send + 'static,
        E: Into<Problem> + Send + 'static,
    {
        let app = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&app)).await;
        match done {
            Ok(outcome) => outcome.map_err(Into::into),
            // It panicked: our bug, contained to this request.
            Err(error) => Err(Problem::internal(error.to_string())),
        }
    }
}
