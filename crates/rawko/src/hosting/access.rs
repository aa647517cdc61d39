//! `HostAccess`: acts on instances. This process holds their store and hosts them, another process does and gets requests,
//! or they live on Restate.

mod live;
mod messenger;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rawko_core::Status;
use rawko_host::{Edition, Host, HostBuilder, SnapshotReader};
use rawko_restate::RestateEngine;
use rawko_store::{Filter, Lock, LockHolder, SqliteOptions, SqliteStore, Store, StoreError, WaitReason};
use rawko_telemetry::Telemetry;
use tokio::net::UnixListener;

use super::client::{NoAnswer, SocketClient};
use super::endpoint::ChannelEndpoint;
use super::execute::{execute, execute_on_engine};
use super::local_client::LocalClient;
use super::project_context::ProjectContext;
use super::protocol::{HostAnswer, Rest, SocketRequest};
use super::remote::{self, RestateAccess};
use super::server::{self, SocketServer};
use crate::authority::Operator;
use crate::checkpoints::pruning;
use crate::console::{Console, TextStyle};
use crate::failure::CommandFailure;
use crate::following::signals;
use crate::retention::RetentionSettings;
use crate::{host_telemetry, times};

/// Number of attempts to reach a holder that is starting or ending.
const ATTEMPTS: usize = 200;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(50);
pub(crate) use live::Pulse;
pub(crate) use messenger::Messenger;

pub(crate) enum HostAccess {
    /// This process hosts.
    Here(Box<RunningHost>),
    /// Another process hosts.
    There { client: SocketClient, reader: SnapshotReader, socket: PathBuf, operator: Operator },
    /// Workers of Restate host.
    Elsewhere {
        engine: Arc<RestateEngine>,
        reader: SnapshotReader,
        words: String,
        telemetry: Option<Arc<Telemetry>>,
        operator: Operator,
    },
}

/// A running host and its resources.
pub(crate) struct RunningHost {
    host: Host,
    local_client: LocalClient,
    channels: ChannelEndpoint,
    server: Option<SocketServer>,
    operator: Operator,
    telemetry: Option<Arc<Telemetry>>,
    /// Released last.
    lock: Arc<Lock>,
    /// Maximum time for running calls to finish during shutdown.
    grace: Duration,
}

impl HostAccess {
    /// Holds the store and hosts, or connects to the holder. `charts` can be started besides those of the project.
    pub(crate) async fn open(
        place: &ProjectContext,
        charts: &[Edition],
        console: &mut Console,
    ) -> Result<HostAccess, CommandFailure> {
        // Before anything of the project is judged: a process without authority needs no other explanation.
        let operator = match &place.remote {
            Some(_) => Operator::without_token()?,
            None => place.operator()?,
        };
        place.insist_on_settings(console)?;
        place.insist_on_trust(console)?;
        if let Some(remote) = &place.remote {
            return HostAccess::elsewhere(remote, place, charts, operator);
        }
        place.make_state_directory()?;
        let socket = place.socket()?;
        for _ in 0..ATTEMPTS {
            match hold(place, &socket) {
                Ok((held, listener)) => {
                    let hosting = RunningHost::start(place, charts, held, listener, operator).await?;
                    return Ok(HostAccess::Here(Box::new(hosting)));
                }
                Err(StoreError::Held { place: store, holder: words }) => {
                    if let Some(there) = ask_holder(place, &operator, &socket, &store, &words).await? {
                        return Ok(there);
                    }
                }
                Err(error) => return Err(error.into()),
            }
            tokio::time::sleep(BETWEEN_ATTEMPTS).await;
        }
        let who = Lock::holder(&place.store).map_or_else(|| "another process".to_owned(), |it| it.words());
        Err(CommandFailure::Transient(format!(
            "{} is in use by {who}, which does not respond",
            place.shown()
        )))
    }

    /// Creates the access to Restate, without connecting.
    fn elsewhere(
        remote: &RestateAccess,
        place: &ProjectContext,
        charts: &[Edition],
        operator: Operator,
    ) -> Result<HostAccess, CommandFailure> {
        let library = place.library();
        charts.iter().for_each(|edition| library.offer(edition.clone()));
        place.insist_on_same_files()?;
        let engine = Arc::new(RestateEngine::new(remote.restate.clone(), library)?);
        if place.watch.is_serving {
            engine.set_serving();
        }
        let reader = remote.reader.clone();
        // Workers report steps and calls; this process only has requests to report, when it serves.
        let telemetry = match place.watch.is_serving {
            true => host_telemetry::start(place, Arc::clone(reader.store()))?,
            false => None,
        };
        host_telemetry::look_at_store(telemetry.as_ref(), &reader);
        tokio::spawn(remote::report_missing_worker(remote.restate.clone()));
        Ok(HostAccess::Elsewhere { engine, reader, words: remote.words(), telemetry, operator })
    }

    pub(crate) fn reader(&self) -> SnapshotReader {
        match self {
            HostAccess::Here(hosting) => hosting.host.reader().clone(),
            HostAccess::There { reader, .. } | HostAccess::Elsewhere { reader, .. } => reader.clone(),
        }
    }

    /// Returns the host, if it is not this process.
    pub(crate) fn other(&self) -> Option<String> {
        match self {
            HostAccess::Here(_) => None,
            HostAccess::There { client, .. } => Some(format!("process {}", client.pid)),
            HostAccess::Elsewhere { words, .. } => Some(words.clone()),
        }
    }

    pub(crate) async fn ask(&mut self, request: SocketRequest) -> Result<HostAnswer, NoAnswer> {
        match self {
            HostAccess::Here(hosting) => execute(&hosting.local_client, hosting.operator.name(), request)
                .await
                .map_err(NoAnswer::Refused),
            HostAccess::There { client, .. } => client.ask(&request).await,
            HostAccess::Elsewhere { engine, operator, .. } => {
                execute_on_engine(&**engine, operator.name(), request).await.map_err(NoAnswer::Refused)
            }
        }
    }

    /// Returns the local_client of this process; `None` if another one hosts.
    #[cfg(feature = "server")]
    pub(crate) fn local_client(&self) -> Option<&LocalClient> {
        match self {
            HostAccess::Here(hosting) => Some(&hosting.local_client),
            HostAccess::There { .. } | HostAccess::Elsewhere { .. } => None,
        }
    }

    /// Returns the engine that this process can use by itself; `None` if another process hosts.
    pub(crate) fn engine(&self) -> Option<Arc<dyn rawko_host::Engine>> {
        match self {
            HostAccess::Here(hosting) => Some(Arc::new(hosting.host.clone())),
            HostAccess::Elsewhere { engine, .. } => Some(Arc::clone(engine) as Arc<dyn rawko_host::Engine>),
            HostAccess::There { .. } => None,
        }
    }

    /// Returns the telemetry of this process.
    #[cfg(feature = "server")]
    pub(crate) fn telemetry(&self) -> Option<&Arc<Telemetry>> {
        match self {
            HostAccess::Here(hosting) => hosting.telemetry.as_ref(),
            HostAccess::Elsewhere { telemetry, .. } => telemetry.as_ref(),
            HostAccess::There { .. } => None,
        }
    }

    /// Waits until an instance settles.
    pub(crate) async fn rest(&mut self, id: &str, patience: Duration) -> Result<Rest, NoAnswer> {
        let patience_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        match self.ask(SocketRequest::Settle { id: id.to_owned(), patience_ms }).await? {
            HostAnswer::Settled(rest) => Ok(rest),
            _ => {
                Err(NoAnswer::Refused(CommandFailure::Failed("unexpected response from the host".to_owned())))
            }
        }
    }

    /// Returns other instances with running calls in this process, on behalf of other commands.
    pub(crate) fn busy_besides(&self, id: &str) -> Result<Vec<String>, CommandFailure> {
        let HostAccess::Here(hosting) = self else { return Ok(Vec::new()) };
        let filter = Filter {
            statuses: vec![Status::Active],
            waits: vec![WaitReason::Work],
            roots_only: true,
            ..Filter::default()
        };
        let rows = hosting.host.reader().store().list(&filter)?.rows;
        let mut busy = Vec::new();
        for row in rows.into_iter().filter(|row| &*row.new.id != id) {
            if hosting.host.drives(&row.new.id)? && hosting.host.activity(&row.new.id)?.busy {
                busy.push(row.new.id.to_string());
            }
        }
        Ok(busy)
    }

    /// Stops hosting; the parked work continues with the next host.
    pub(crate) async fn close(self, console: &mut Console) {
        let hosting = match self {
            HostAccess::Here(hosting) => hosting,
            HostAccess::Elsewhere { telemetry: Some(telemetry), .. } => return telemetry.close().await,
            HostAccess::There { .. } | HostAccess::Elsewhere { .. } => return,
        };
        let RunningHost { host, local_client, channels, server, operator: _, telemetry, lock, grace } =
            *hosting;
        if let Some(server) = server {
            server.close().await;
        }
        channels.close();
        local_client.close().await;
        for complaint in host.take_complaints() {
            console.note(TextStyle::Notice, "warning", &complaint);
        }
        if let Some(wait) = signals::wait_for() {
            let calls = host.running_calls(wait);
            if calls > 0 {
                let noun = if calls == 1 { "call" } else { "calls" };
                console.note(TextStyle::Dim, "waiting", &format!("for {calls} running {noun} to finish"));
            }
            host.drain(wait, grace).await;
        }
        let store = Arc::clone(host.reader().store());
        host.close().await;
        // Other tasks may still hold the store, and the process may end before they let go.
        let _ = tokio::task::spawn_blocking(move || store.close()).await;
        if let Some(telemetry) = telemetry {
            telemetry.close().await;
        }
        drop(lock);
    }
}

impl RunningHost {
    async fn start(
        place: &ProjectContext,
        charts: &[Edition],
        (lock, holder): (Lock, LockHolder),
        listener: Option<(PathBuf, UnixListener)>,
        operator: Operator,
    ) -> Result<RunningHost, CommandFailure> {
        let settings = &place.settings;
        let lock = Arc::new(lock);
        let options = SqliteOptions { size_max_bytes: settings.store_size_max(), read_only: false };
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&place.store, options)?);
        let telemetry = host_telemetry::start(place, Arc::clone(&store))?;
        let observer = telemetry.clone().map(|telemetry| telemetry as Arc<dyn rawko_host::Observer>);
        let agent_services = place.observed_workshop(observer);
        let channels = ChannelEndpoint::new();
        let mut builder = Host::builder();
        if let Some(telemetry) = &telemetry {
            builder = builder.observer(telemetry.clone());
        }
        let (services, endpoints) = place.services()?;
        let builder = builder
            .store(store)
            .services(agent_services.join(services))
            .agents(agent_services.clone())
            .endpoints(endpoints.add_scheme("channel", channels.service()))
            .gate(settings.gate())
            .limits(settings.limits())
            .world(place.world())
            .in_memory_max(settings.instances_in_memory());
        let builder = place.deferred().fold(builder, HostBuilder::deferred_chart);
        let all = place.own_offered().charts.iter().chain(charts).cloned();
        let mut builder = all.fold(builder, HostBuilder::chart);
        // A server drives everything; a command only the instances that it starts or names.
        if !place.watch.is_serving {
            // Other commands read from the lock which instances this one moves.
            let (lock, holder) = (Arc::downgrade(&lock), holder);
            builder = builder.only_requested().watch_requested(move |roots| {
                let drives = Some(roots.iter().map(ToString::to_string).collect());
                let described =
                    lock.upgrade().map(|lock| lock.describe(&LockHolder { drives, ..holder.clone() }));
                // A description that is out of date only affects what `ps` shows.
                drop(described);
            });
        }
        place.insist_on_same_files()?;
        let host = builder.start().await?;
        host_telemetry::look_at(telemetry.as_ref(), &host);
        let local_client = LocalClient::new(host.clone(), place, agent_services);
        channels.open(&local_client);
        let server = listener.map(|(path, listener)| {
            SocketServer::serve(path, listener, local_client.clone(), operator.clone())
        });
        let files_ms = RetentionSettings::look(settings).0.files_ms();
        let (root, all) = (place.root.clone(), settings.clone());
        let reader = host.reader().clone();
        match place.watch.is_serving {
            true => tokio::spawn(pruning::prune_daily(root, all, reader, files_ms)),
            false => tokio::spawn(pruning::prune_if_due(root, all, reader, files_ms)),
        };
        let grace = settings.shutdown_grace();
        Ok(RunningHost { host, local_client, channels, server, operator, telemetry, lock, grace })
    }
}

/// Takes the lock and opens a socket for other commands, if the system allows one.
fn hold(
    place: &ProjectContext,
    socket: &Path,
) -> Result<(HeldLock, Option<(PathBuf, UnixListener)>), StoreError> {
    let holder = |socket: Option<String>| LockHolder {
        pid: std::process::id(),
        command: command_line(),
        started_ms: times::now_ms(),
        socket,
        drives: (!place.watch.is_serving).then(Vec::new),
    };
    let listening = holder(Some(socket.display().to_string()));
    let lock = Lock::take(&place.store, &listening)?;
    match server::bind(socket) {
        Ok(listener) => Ok(((lock, listening), Some((socket.to_owned(), listener)))),
        Err(_) => {
            drop(lock);
            let silent = holder(None);
            Ok(((Lock::take(&place.store, &silent)?, silent), None))
        }
    }
}

/// The lock, and its description.
type HeldLock = (Lock, LockHolder);

/// Returns `None` if the holder is starting or ending.
async fn ask_holder(
    place: &ProjectContext,
    operator: &Operator,
    socket: &Path,
    store: &str,
    words: &str,
) -> Result<Option<HostAccess>, CommandFailure> {
    let Some(holder) = Lock::holder(&place.store) else { return Ok(None) };
    let Some(listening) = &holder.socket else {
        let help = "it accepts no requests; wait until it ends";
        return Err(CommandFailure::Transient(format!("{store} is in use by {words}; {help}")));
    };
    // Another path is never connected to: the credential would go to the author of the lock file.
    if Path::new(listening) != socket {
        let help = "it uses another state directory; set RAWKO_STATE_DIR to the same one";
        return Err(CommandFailure::Transient(format!("{store} is in use by {words}; {help}")));
    }
    match SocketClient::connect(socket, operator).await {
        Ok(client) => match place.reader()? {
            Some(reader) => {
                let (socket, operator) = (socket.to_owned(), operator.clone());
                Ok(Some(HostAccess::There { client, reader, socket, operator }))
            }
            None => Ok(None),
        },
        Err(NoAnswer::Gone) => Ok(None),
        Err(NoAnswer::Refused(failure)) => Err(failure),
    }
}

/// Returns the command line as typed.
pub(super) fn command_line() -> String {
    let words = std::env::args().skip(1);
    std::iter::once("rawko".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
