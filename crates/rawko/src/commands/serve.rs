//! `rawko serve`: hosts the project and serves its page, its API and its agents' socket on one address, until it is
//! stopped.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use rawko_agents::work::Workshop;
use rawko_host::Engine;
use rawko_server::{AppOptions, Entry, LogSink, Role, Server, ServerSettings, Serving, Tokens};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::console::{Console, Style};
use crate::failure::{Failure, Verdict};
use crate::files;
use crate::following::Signals;
use crate::hosting::{self, Access, Place, ServePlan, StoreArgs};
use crate::served::ServedProject;
use crate::watching::{LogArgs, WatchPlan};

const PORT: u16 = 7411;
/// The name of the token from RAWKO_TOKEN or `--token-file`.
const OWN_TOKEN: &str = "admin";

const EXAMPLES: &str = "\
Runs all instances, timers and channels of the store, and prints the address of the page. The API
is at /v1 (see /v1/openapi.json); agents connect to ws://ADDRESS/v1/agents. Agents with a `command`
in the settings are started. Other rawko commands use this server while it runs. Ctrl-C parks all
instances; the next `rawko serve` continues them.

A token is required unless the address is loopback. Define tokens with roles under
`server: {tokens: …}` in the settings, or pass an admin token with --token-file or RAWKO_TOKEN.
Clients send it as `Authorization: Bearer`, agents as `token` when they register.

Examples:
  rawko serve
  rawko serve --listen 127.0.0.1:9000
  rawko serve --channel-log json 2> channels.jsonl     # log every turn
  RAWKO_TOKEN=… rawko serve --listen 0.0.0.0:7411";

/// Host the project and serve its web page and API
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Address to listen on [default: 127.0.0.1:7411]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,

    /// File with an admin token (or set RAWKO_TOKEN to the token)
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Log the turns of agents in channels to standard error
    #[arg(long, value_name = "FORMAT", default_value = "none")]
    channel_log: LogFormat,

    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    log: LogArgs,
}

/// The format of the log of channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    None,
    Text,
    Json,
}

type WhatIsServed = (Arc<dyn Engine>, Arc<Workshop>, Option<Arc<Serving>>);

/// The address, settings and tokens of the server.
struct Plan {
    listen: SocketAddr,
    settings: ServerSettings,
    tokens: Tokens,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Verdict, Failure> {
    let mut place = Place::here(&args.store)?;
    let plan = plan(args, &place)?;
    let (sink, mut log) = sink(args.channel_log);
    place.watch = WatchPlan::serving(args.log);
    place.serve = ServePlan { own_agents: true, tokens: plan.tokens.clone(), log: sink };
    hosting::block_on(async {
        let mut signals = Signals::new()?;
        let access = Access::open(&place, &[], console).await?;
        let outcome = match listen(plan, &place, &access).await {
            Ok(server) => {
                console.line(&format!("http://{}", server.address()))?;
                console.flush()?;
                let verdict = loop {
                    tokio::select! {
                        Some(line) = log.recv() => console.aside(&format!("{line}\n")),
                        verdict = signals.next() => break verdict,
                    }
                };
                server.close().await;
                Ok(verdict)
            }
            Err(failure) => Err(failure),
        };
        let other = access.other();
        access.close(console).await;
        while let Ok(line) = log.try_recv() {
            console.aside(&format!("{line}\n"));
        }
        if outcome.is_ok() {
            match other {
                None => console.note(Style::Dim, "parked", "run `rawko serve` to continue all instances"),
                Some(host) => console.note(Style::Dim, "stopped", &format!("instances continue in {host}")),
            }
        }
        outcome
    })
}

async fn listen(plan: Plan, place: &Place, access: &Access) -> Result<Server, Failure> {
    let (engine, workshop, channels) = served(place, access).await?;
    let options = AppOptions {
        world: place.world(),
        version: env!("CARGO_PKG_VERSION"),
        channels,
        project: Arc::new(ServedProject::new(place, Arc::clone(&engine), workshop)),
        tokens: plan.tokens,
        settings: plan.settings,
        metrics: access.telemetry().map(|telemetry| Arc::clone(telemetry.metrics())),
        logs: access.telemetry().and_then(|telemetry| telemetry.logs().cloned()),
        ..AppOptions::new(engine)
    };
    let cannot =
        |error: std::io::Error| Failure::Transient(format!("cannot listen on {}: {error}", plan.listen));
    let listener = TcpListener::bind(plan.listen).await.map_err(cannot)?;
    Server::start(listener, options).map_err(cannot)
}

/// Returns the engine to serve: the host of this process with its channels, or instances on Restate, which have no
/// channels.
async fn served(place: &Place, access: &Access) -> Result<WhatIsServed, Failure> {
    if let Some(engine) = access.elsewhere_engine() {
        return Ok((engine, Arc::new(place.workshop().0), None));
    }
    let Some(desk) = access.desk() else {
        let (store, other) = (place.shown(), access.other().unwrap_or_default());
        let help = "stop that process first";
        return Err(Failure::Transient(format!("cannot serve {store}: already hosted by {other}; {help}")));
    };
    // Opened before the first connection is accepted.
    let serving = Arc::clone(desk.serving().await?);
    let engine: Arc<dyn Engine> = Arc::new(desk.host.clone());
    Ok((engine, Arc::clone(&desk.workshop), Some(serving)))
}

fn plan(args: &Args, place: &Place) -> Result<Plan, Failure> {
    let (settings, problems) = ServerSettings::read(&place.settings, &place.root);
    let words: Vec<String> = problems
        .into_iter()
        .flat_map(|(file, findings)| findings.into_iter().map(move |it| format!("{file}: {}", it.message)))
        .collect();
    if !words.is_empty() {
        return Err(Failure::Invalid(format!("invalid settings\n{}", words.join("\n"))));
    }
    let mut tokens = settings.tokens(place.settings.environment()).map_err(Failure::Invalid)?;
    if let Some(token) = token(args)? {
        if tokens.has(OWN_TOKEN) {
            let why = "RAWKO_TOKEN or --token-file defines a token with this name, too";
            let help = "rename the token in the settings";
            return Err(Failure::Invalid(format!("duplicate token `{OWN_TOKEN}`: {why}; {help}")));
        }
        tokens = tokens.with(OWN_TOKEN, Role::Admin, &token);
    }
    let own = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let listen = args.listen.or(settings.listen).unwrap_or(own);
    if tokens.is_empty() && !listen.ip().is_loopback() {
        let help = "pass --token-file or set RAWKO_TOKEN";
        return Err(Failure::Usage(format!("refusing to listen on {listen} without a token; {help}")));
    }
    Ok(Plan { listen, settings, tokens })
}

fn sink(format: LogFormat) -> (Option<LogSink>, mpsc::UnboundedReceiver<String>) {
    let (lines, log) = mpsc::unbounded_channel();
    let sink: Option<LogSink> = match format {
        LogFormat::None => None,
        LogFormat::Text => Some(Arc::new(move |entry: &Entry| drop(lines.send(words(entry))))),
        LogFormat::Json => Some(Arc::new(move |entry: &Entry| {
            drop(lines.send(serde_json::to_string(entry).unwrap_or_default()));
        })),
    };
    (sink, log)
}

fn words(entry: &Entry) -> String {
    match entry {
        Entry::Transition(line) => {
            format!(
                "{}  {}  {} → {}  {}",
                line.channel,
                line.agent,
                line.from.as_str(),
                line.to.as_str(),
                line.trigger.as_str()
            )
        }
        Entry::Warning(warning) => format!("{}  {}  {}", warning.channel, warning.agent, warning.message),
    }
}

fn token(args: &Args) -> Result<Option<String>, Failure> {
    let text = match &args.token_file {
        Some(path) => Some(files::read_text(path)?),
        None => std::env::var("RAWKO_TOKEN").ok(),
    };
    Ok(text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
}
