//! `rawko worker`: serves the project's charts, services and agents to Restate until it is stopped.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rawko_host::SnapshotReader;
use rawko_restate::Worker;
use rawko_restate::client::{Admin, Deployment, Force, Restate, RestateError};
use rawko_restate::layout::{INSTANCE, SERVICES};
use rawko_restate::store::RestateStore;
use rawko_server::serve_metrics;
use rawko_telemetry::Telemetry;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::authority::Operator;
use crate::checkpoints::pruning;
use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::following::Signals;
use crate::host_telemetry::{self, LogArgs, WatchPlan};
use crate::hosting::{self, HostArgs, ProjectContext, StoreArgs};
use crate::retention::RetentionSettings;
use crate::scenario::report::count;

const EXAMPLES: &str = "\
Runs the steps and calls of instances that live on Restate, with the charts, services, agents and
rules of this project. Workers are stateless; start as many as needed with the same project behind
one address. On one machine they share a port; on several, put a load balancer in front and pass its
URL with --advertise.

The first worker registers the address with Restate; invocations that waited for a worker continue
at once. On Ctrl-C running calls get a few seconds to finish; another worker repeats the others.

Traces go to OTEL_EXPORTER_OTLP_ENDPOINT or the collector in the settings, log lines to standard
error at the level of RAWKO_LOG, and metrics to the Prometheus endpoint of --metrics.

Anyone who can reach a worker can act on instances: listen on loopback or a private network, or
accept only requests signed by your Restate server (--identity-key).

Examples:
  rawko worker --restate http://127.0.0.1:8080
  rawko worker --restate http://restate:8080 --listen 0.0.0.0:9080 --advertise http://workers:9080
  rawko run order.yaml --host restate";

/// Interval between attempts to reach the server.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(500);
/// Interval of the check for paused invocations, such as after an outage of some minutes.
const BETWEEN_LOOKS: Duration = Duration::from_secs(30);
/// Maximum number of connections waiting to be accepted.
const BACKLOG: u32 = 1024;
/// Metadata key of a deployment, so that the same one is not registered again.
const VERSION_KEY: &str = "rawko";

/// Run instances that live on Restate
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Restate ingress URL(s), comma-separated [env: RAWKO_RESTATE]
    #[arg(long, value_name = "URL")]
    restate: Option<String>,

    /// Restate admin URL [default: ingress host:9070] [env: RAWKO_RESTATE_ADMIN]
    #[arg(long, value_name = "URL")]
    admin: Option<String>,

    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9080")]
    listen: SocketAddr,

    /// URL under which Restate reaches the workers [default: --listen]
    #[arg(long, value_name = "URL")]
    advertise: Option<String>,

    /// Accept only requests signed with this key (`publickeyv1_…`)
    #[arg(long, value_name = "KEY")]
    identity_key: Option<String>,

    /// Address of the Prometheus endpoint `/metrics` [default: off]
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,

    #[command(flatten)]
    log: LogArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let mut place = ProjectContext::here(&StoreArgs::default())?;
    place.watch = WatchPlan::serving(args.log);
    place.insist_on_settings(console)?;
    Operator::without_token()?;
    place.insist_on_trust(console)?;
    let address = HostArgs { host: None, restate: args.restate.clone(), admin: args.admin.clone() };
    let restate = address.client(&place.settings)?;
    hosting::block_on(async {
        let mut signals = Signals::new()?;
        let listener = listen(args.listen)?;
        let uri = advertised(args, &listener)?;
        let telemetry = host_telemetry::start(&place, Arc::new(RestateStore::new(&restate)?))?;
        let metrics = measured(args.metrics, telemetry.as_ref()).await?;
        let worker = worker(args, &place, &restate, telemetry.as_ref())?;
        let reader = SnapshotReader::new(Arc::new(RestateStore::new(&restate)?));
        let files_ms = RetentionSettings::look(&place.settings).0.files_ms();
        console.line(&format!("serving {} at {uri}", offered(&place)))?;
        console.flush()?;
        let (root, settings) = (place.root.clone(), place.settings.clone());
        tokio::spawn(pruning::prune_daily(root, settings, reader, files_ms));
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(worker.serve(listener, async {
            let _ = stopped.await;
        }));
        let outcome = tokio::select! {
            verdict = signals.next() => Ok(verdict),
            failure = attend(restate.admin(), &uri, console) => Err(failure),
        };
        // Open requests get a moment to finish; a second signal ends the process.
        let _ = stop.send(());
        let _ = serving.await;
        if let Some(metrics) = metrics {
            metrics.abort();
        }
        if let Some(telemetry) = telemetry {
            telemetry.close().await;
        }
        if outcome.is_ok() {
            console.note(
                TextStyle::Dim,
                "stopped",
                "instances continue on other workers, or when one starts",
            );
        }
        outcome
    })
}

/// Starts the metrics listener for Prometheus, if requested.
async fn measured(
    address: Option<SocketAddr>,
    telemetry: Option<&Arc<Telemetry>>,
) -> Result<Option<JoinHandle<std::io::Result<()>>>, CommandFailure> {
    let (Some(address), Some(telemetry)) = (address, telemetry) else { return Ok(None) };
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| CommandFailure::Transient(format!("cannot listen on {address}: {error}")))?;
    Ok(Some(tokio::spawn(serve_metrics(listener, Arc::clone(telemetry.metrics())))))
}

fn worker(
    args: &Args,
    place: &ProjectContext,
    restate: &Restate,
    telemetry: Option<&Arc<Telemetry>>,
) -> Result<Worker, CommandFailure> {
    let settings = &place.settings;
    let observer = telemetry.cloned().map(|telemetry| telemetry as Arc<dyn rawko_host::Observer>);
    let agent_services = place.observed_workshop(observer);
    let mut builder = Worker::builder();
    if let Some(telemetry) = telemetry {
        builder = builder.observer(telemetry.clone());
    }
    let (services, endpoints) = place.services()?;
    let builder = builder
        .services(agent_services.join(services))
        .agents(agent_services)
        .endpoints(endpoints)
        .gate(settings.gate())
        .limits(settings.limits())
        .world(place.world())
        .identity_key(args.identity_key.clone());
    let builder = place.offered().into_iter().fold(builder, |builder, edition| builder.chart(edition));
    place.insist_on_same_files()?;
    builder.build(restate).map_err(|error| CommandFailure::Usage(error.to_string()))
}

/// Shares the address with other workers of this machine; the system distributes connections.
fn listen(address: SocketAddr) -> Result<TcpListener, CommandFailure> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
    let listening = socket.and_then(|socket| {
        socket.set_reuseaddr(true)?;
        socket.set_reuseport(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    });
    listening.map_err(|error| CommandFailure::Transient(format!("cannot listen on {address}: {error}")))
}

fn advertised(args: &Args, listener: &TcpListener) -> Result<String, CommandFailure> {
    if let Some(uri) = &args.advertise {
        return Ok(uri.clone());
    }
    let address = listener.local_addr().unwrap_or(args.listen);
    if address.ip().is_unspecified() {
        let help = "pass the URL for Restate with --advertise http://NAME:PORT";
        return Err(CommandFailure::Usage(format!(
            "cannot advertise the wildcard address {address}; {help}"
        )));
    }
    Ok(format!("http://{address}"))
}

fn offered(place: &ProjectContext) -> String {
    let (charts, services) = (place.offered().len(), place.settings.service_names().len());
    format!("{} and {}", count(charts, "chart"), count(services, "service"))
}

/// Registers with Restate, resumes invocations that waited for a worker, and later ones that pause. Returns only on
/// failure.
async fn attend(admin: &Admin, uri: &str, console: &mut Console) -> CommandFailure {
    if let Err(failure) = register(admin, uri, console).await {
        return failure;
    }
    let mut woken = admin.wake(&SERVICES).await;
    let mut is_told = false;
    loop {
        match woken {
            Ok(woken) => {
                is_told = false;
                if woken.resumed > 0 {
                    let words = format!("{} that waited for a worker", count(woken.resumed, "invocation"));
                    console.note(TextStyle::Dim, "resumed", &words);
                }
            }
            // Printed once, to avoid repeated lines while a server is down for long.
            Err(error) if !is_told => {
                is_told = true;
                let words = format!("cannot resume invocations that wait for a worker: {error}");
                console.note(TextStyle::Notice, "warning", &words);
            }
            Err(_) => {}
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
        woken = admin.resume_all(&SERVICES).await;
    }
}

/// Registers with Restate once the server is reachable.
async fn register(admin: &Admin, uri: &str, console: &mut Console) -> Result<(), CommandFailure> {
    let mut is_told = false;
    let WorkerRegistration { id, newest, .. } = loop {
        match register_once(admin, uri).await {
            Ok(WorkerRegistration { missing, .. }) if !missing.is_empty() => {
                if !is_told {
                    let words = format!(
                        "an older worker answered at {uri}: {} not registered; trying until a worker of this version does",
                        missing.join(", ")
                    );
                    console.note(TextStyle::Notice, "waiting", &words);
                    is_told = true;
                }
                tokio::time::sleep(BETWEEN_ATTEMPTS).await;
            }
            Err(error) if error.is_transient() => {
                if !is_told {
                    console.note(TextStyle::Notice, "waiting", &error.to_string());
                    is_told = true;
                }
                tokio::time::sleep(BETWEEN_ATTEMPTS).await;
            }
            outcome => break outcome?,
        }
    };
    console.line(&format!("registered as {id} with Restate at {}", admin.place()))?;
    console.flush()?;
    if let Some(newest) = newest {
        let words = format!(
            "new invocations go to {newest}, which was registered later; this worker only finishes its own. \
             To receive new invocations, start workers on a new address"
        );
        console.note(TextStyle::Notice, "outdated", &words);
    }
    Ok(())
}

/// The deployment after registration.
struct WorkerRegistration {
    id: String,
    /// The address that gets all new invocations, if it is a different one.
    newest: Option<String>,
    /// Services that the server did not find: a worker of another version answered at a shared address.
    missing: Vec<&'static str>,
}

/// Registers the deployment unless the same version is registered at this address. An existing registration stays in
/// place even if another address was registered since: a worker restarted while its address drains must not take over
/// from the new ones.
async fn register_once(admin: &Admin, uri: &str) -> Result<WorkerRegistration, RestateError> {
    let version = env!("CARGO_PKG_VERSION");
    let is_same = |at: &str| at.trim_end_matches('/') == uri.trim_end_matches('/');
    let deployments = admin.deployments().await?;
    let known = deployments.iter().find(|known| known.uri.as_deref().is_some_and(is_same));
    if let Some(known) = known
        && known.metadata.get(VERSION_KEY).is_some_and(|said| said == version)
        && missing(Some(known)).is_empty()
    {
        let newest = deployments.iter().max_by_key(|it| revision(it)).filter(|it| it.id != known.id);
        let newest = newest.map(|it| it.uri.clone().unwrap_or_else(|| it.id.clone()));
        return Ok(WorkerRegistration { id: known.id.clone(), newest, missing: Vec::new() });
    }
    let metadata = BTreeMap::from([(VERSION_KEY.to_owned(), version.to_owned())]);
    let id = admin.register(uri, Force::Replace, &metadata).await?.id;
    let deployments = admin.deployments().await?;
    let missing = missing(deployments.iter().find(|known| known.id == id));
    Ok(WorkerRegistration { id, newest: None, missing })
}

/// Returns the services of a worker that a deployment does not have.
fn missing(deployment: Option<&Deployment>) -> Vec<&'static str> {
    let has = |name: &str| deployment.is_some_and(|known| known.services.iter().any(|it| it.name == name));
    SERVICES.into_iter().filter(|name| !has(name)).collect()
}

/// Returns the revision of a deployment, which increases with every registration.
fn revision(deployment: &Deployment) -> Option<u32> {
    let mut services = deployment.services.iter();
    services.find(|service| service.name == INSTANCE).map(|service| service.revision)
}

#[cfg(test)]
mod tests {
    use rawko_restate::client::ServiceRevision;

    use super::*;

    #[test]
    fn services_that_an_older_worker_does_not_have_are_missing() {
        let mut found = Deployment {
            id: "dp_1".to_owned(),
            uri: None,
            created_at: String::new(),
            metadata: BTreeMap::new(),
            services: Vec::new(),
        };
        assert_eq!(missing(None), SERVICES);
        let service = |name: &str| ServiceRevision { name: name.to_owned(), revision: 1 };
        found.services = SERVICES[..5].iter().map(|name| service(name)).collect();
        assert_eq!(missing(Some(&found)), ["RawkoIndex"]);
        found.services.push(service("RawkoIndex"));
        assert_eq!(missing(Some(&found)), [""; 0]);
    }
}
