//! `App`: the state shared by all handlers. Cheap to clone.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use rawko_core::World;
use rawko_host::{Clock, Engine, RemoteServices, SnapshotReader, SystemClock};
use rawko_telemetry::{Logs, Metrics};
use rawko_view::list_index::ListIndex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::access::AccessRules;
use super::charts::Shelf;
use super::limits::{Answers, Buckets, HttpTimeouts};
use super::live::LiveReader;
use super::problem::{ErrorResponse, ProblemCode};
use super::project::{NoProject, ProjectService};
use super::settings::ServerSettings;
use super::triggers::ServedTriggers;
use super::usage::UsageCache;
use crate::agents::Gatekeeper;
use crate::serving::ServingChannels;
use crate::tokens::ServerTokens;

/// Concurrent event streams.
const STREAMS_MAX: usize = 10_000;

/// Concurrent reads of the store.
fn reads_max() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (2 * processors).clamp(4, 16)
}

/// Options of the server.
pub struct AppOptions {
    /// Host of the instances.
    pub engine: Arc<dyn Engine>,
    /// Values that expressions see besides context and event.
    pub world: World,
    /// Source of the current time.
    pub clock: Arc<dyn Clock>,
    /// Version of rawko, for `/v1/health`.
    pub version: &'static str,
    /// `None`: this server has no channels, and no socket for agents.
    pub channels: Option<Arc<ServingChannels>>,
    /// Interface to the served project.
    pub project: Arc<dyn ProjectService>,
    /// The queue of services that other programs provide.
    pub services: RemoteServices,
    /// Tokens and their roles.
    pub tokens: ServerTokens,
    /// Section `server` of the settings.
    pub settings: ServerSettings,
    /// Schedules and webhooks that start or send.
    pub triggers: ServedTriggers,
    /// Time limits of connections and streams.
    pub patience: HttpTimeouts,
    /// Source of `/metrics`, and counter of requests.
    pub metrics: Option<Arc<Metrics>>,
    /// Log for internal errors.
    pub logs: Option<Arc<Logs>>,
}

impl AppOptions {
    /// Only a host: no project, no channels, no tokens.
    pub fn new(engine: Arc<dyn Engine>) -> AppOptions {
        AppOptions {
            engine,
            world: World::default(),
            clock: Arc::new(SystemClock),
            version: env!("CARGO_PKG_VERSION"),
            channels: None,
            project: Arc::new(NoProject),
            services: RemoteServices::default(),
            tokens: ServerTokens::default(),
            settings: ServerSettings::default(),
            triggers: ServedTriggers::default(),
            patience: HttpTimeouts::default(),
            metrics: None,
            logs: None,
        }
    }
}

/// Returns an address that a browser can open: not that of all interfaces.
pub(super) fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// State shared by all handlers.
#[derive(Clone)]
pub struct App {
    inner: Arc<AppInner>,
}

struct AppInner {
    options: AppOptions,
    address: SocketAddr,
    access: AccessRules,
    gate: Option<Gatekeeper>,
    buckets: Buckets,
    answers: Answers,
    live: LiveReader,
    shelf: Shelf,
    usage: UsageCache,
    lists: ListIndex,
    streams: Arc<Semaphore>,
    reads: Semaphore,
    closing: watch::Sender<bool>,
    since: Instant,
}

impl App {
    /// `address`: the listening address, which determines the trusted host names.
    pub fn new(options: AppOptions, address: SocketAddr) -> App {
        let access = AccessRules::new(options.tokens.clone(), &options.settings, address);
        let inner = AppInner {
            address,
            access,
            gate: options.channels.as_ref().map(|channels| channels.gatekeeper()),
            buckets: Buckets::new(options.settings.rate),
            answers: Answers::default(),
            live: LiveReader::default(),
            shelf: Shelf::default(),
            usage: UsageCache::default(),
            lists: ListIndex::default(),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            reads: Semaphore::new(reads_max()),
            closing: watch::Sender::new(false),
            since: Instant::now(),
            options,
        };
        App { inner: Arc::new(inner) }
    }

    pub(crate) fn engine(&self) -> &Arc<dyn Engine> {
        &self.inner.options.engine
    }

    /// Returns what sorted lists and sums of usage are kept in.
    pub(crate) fn list_index(&self) -> &ListIndex {
        &self.inner.lists
    }

    pub(crate) fn reader(&self) -> &SnapshotReader {
        self.engine().reader()
    }

    pub(crate) fn world(&self) -> &World {
        &self.inner.options.world
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.inner.options.clock.now_ms()
    }

    pub(crate) fn settings(&self) -> &ServerSettings {
        &self.inner.options.settings
    }

    pub(crate) fn triggers(&self) -> &ServedTriggers {
        &self.inner.options.triggers
    }

    /// Returns true if only this machine can connect.
    pub(crate) fn is_loopback(&self) -> bool {
        self.inner.address.ip().is_loopback()
    }

    /// Returns the address of the page for people: the configured one, else that of this machine.
    pub(crate) fn public_url(&self) -> String {
        let own = || format!("http://{}", reachable(self.inner.address));
        self.settings().public_url.clone().unwrap_or_else(own)
    }

    #[cfg(feature = "mcp")]
    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.inner.options.clock)
    }

    /// Returns the key of states that MCP clients return: known to the holders of tokens only, the same after a restart.
    #[cfg(feature = "mcp")]
    pub(crate) fn mcp_key(&self) -> [u8; 32] {
        self.inner.options.tokens.derived_key("rawko 2026-11 MCP request state")
    }

    pub(crate) fn version(&self) -> &'static str {
        self.inner.options.version
    }

    pub(crate) fn project(&self) -> &Arc<dyn ProjectService> {
        &self.inner.options.project
    }

    /// Returns the queue of services that other programs provide.
    pub(crate) fn services(&self) -> &RemoteServices {
        &self.inner.options.services
    }

    /// Returns the channels, or a problem if this server has none.
    pub(crate) fn channels(&self) -> Result<&Arc<ServingChannels>, ErrorResponse> {
        let none =
            || ErrorResponse::new(ProblemCode::Unavailable, "channels are not available on this server");
        self.inner.options.channels.as_ref().ok_or_else(none)
    }

    /// Returns the acceptor of agent connections.
    pub(crate) fn gate(&self) -> Result<&Gatekeeper, ErrorResponse> {
        let none =
            || ErrorResponse::new(ProblemCode::Unavailable, "channels are not available on this server");
        self.inner.gate.as_ref().ok_or_else(none)
    }

    pub(crate) fn patience(&self) -> HttpTimeouts {
        self.inner.options.patience
    }

    pub(crate) fn metrics(&self) -> Option<&Arc<Metrics>> {
        self.inner.options.metrics.as_ref()
    }

    pub(crate) fn logs(&self) -> Option<&Arc<Logs>> {
        self.inner.options.logs.as_ref()
    }

    pub(crate) fn access(&self) -> &AccessRules {
        &self.inner.access
    }

    pub(crate) fn buckets(&self) -> &Buckets {
        &self.inner.buckets
    }

    pub(crate) fn answers(&self) -> &Answers {
        &self.inner.answers
    }

    /// Returns the cache of chart data.
    pub(crate) fn shelf(&self) -> &Shelf {
        &self.inner.shelf
    }

    /// Returns the cache of usage by model.
    pub(crate) fn usage(&self) -> &UsageCache {
        &self.inner.usage
    }

    pub(crate) fn uptime_ms(&self) -> u64 {
        u64::try_from(self.inner.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the reader shared by all event streams.
    pub(crate) fn live(&self) -> &LiveReader {
        &self.inner.live
    }

    /// Reserves an event stream until the permit is dropped.
    pub(crate) fn stream(&self) -> Result<OwnedSemaphorePermit, ErrorResponse> {
        let full =
            |_| ErrorResponse::new(ProblemCode::TooManyStreams, "too many open event streams; retry later");
        Arc::clone(&self.inner.streams).try_acquire_owned().map_err(full)
    }

    /// Becomes true when the server closes: streams end then.
    pub(crate) fn closing(&self) -> watch::Receiver<bool> {
        self.inner.closing.subscribe()
    }

    pub(crate) fn close(&self) {
        self.inner.closing.send_replace(true);
    }

    /// Runs a blocking store read on the blocking pool, in turn. More reads at a time than processors and idle connections
    /// of the store only take them from each other.
    pub(crate) async fn read<T, E>(
        &self,
        work: impl FnOnce(&App) -> Result<T, E> + Send + 'static,
    ) -> Result<T, ErrorResponse>
    where
        T: Send + 'static,
        E: Into<ErrorResponse> + Send + 'static,
    {
        // Never closed; without a permit the read is merely not limited.
        let _turn = self.inner.reads.acquire().await.ok();
        self.compute(work).await
    }

    /// Runs blocking work that may take long on the blocking pool.
    pub(crate) async fn compute<T, E>(
        &self,
        work: impl FnOnce(&App) -> Result<T, E> + Send + 'static,
    ) -> Result<T, ErrorResponse>
    where
        T: Send + 'static,
        E: Into<ErrorResponse> + Send + 'static,
    {
        let app = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&app)).await;
        match done {
            Ok(outcome) => outcome.map_err(Into::into),
            // A panic: a bug, contained to this request.
            Err(error) => Err(ErrorResponse::internal(error.to_string())),
        }
    }
}
