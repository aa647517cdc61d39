//! `rawko serve`: hosts the project and serves its page, its API and its agents' socket on one address, until it is
//! stopped.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use rawko_agents::work::AgentServices;
use rawko_host::Engine;
use rawko_server::{
    AppOptions, HttpServer, LinkIssuer, LogEntry, LogSink, NotifyOptions, Role, ServedTriggers,
    ServerSettings, ServerTokens, ServingChannels,
};
use rawko_settings::StateDir;
use rawko_store::Lock;
use rawko_triggers::Triggers;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::authority::{random_text, token_of_environment};
use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::files;
use crate::following::Signals;
use crate::host_telemetry::{LogArgs, WatchPlan};
use crate::hosting::{
    self, HostAccess, HostAnswer, NoAnswer, ProjectContext, ServePlan, SocketRequest, StoreArgs,
};
use crate::queue::{Scheduler, at_once};
use crate::served::ServedProject;

const PORT: u16 = 7411;
/// Length of the code of a one-time link.
const CODE_LEN: usize = 40;

const EXAMPLES: &str = "\
Runs all instances, timers, channels, queued tasks and triggers of the store. Prints its address,
and a link that logs a browser in: it is valid once, for ten minutes. The API is at /v1 (see
/v1/openapi.json); agents connect to ws://ADDRESS/v1/agents, programs that provide services to
ws://ADDRESS/v1/services. Agents with a `command` in the settings are started. Other rawko
commands use this server while it runs. Ctrl-C parks all instances; the next `rawko serve`
continues them.

Every request needs a token, also on loopback: `Authorization: Bearer TOKEN`, or the page's cookie.
The operator's is in the file of --token-file, else RAWKO_TOKEN, else the credential in the state
directory. Define others with roles under `server: {tokens: …}` in the settings; agents send theirs
as `token` when they register. An address that is not loopback needs one that you set yourself.

Examples:
  rawko serve
  rawko serve --link                                   # another link for the running server
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

    /// File with the operator's token for HTTP [env: RAWKO_TOKEN (the token)]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Print a new link to the page of the running server, and exit
    #[arg(long, conflicts_with_all = ["listen", "token_file", "channel_log"])]
    link: bool,

    /// Log the turns of agents in channels to standard error
    #[arg(long, value_name = "FORMAT", default_value = "none")]
    channel_log: ChannelLogFormat,

    /// Queued tasks that run at the same time [default: `queue.at_once`, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    queue_at_once: Option<u32>,

    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    log: LogArgs,
}

/// The format of the log of channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ChannelLogFormat {
    None,
    Text,
    Json,
}

type ServedParts = (Arc<dyn Engine>, Arc<AgentServices>, Option<Arc<ServingChannels>>);

/// The address, settings and tokens of the server.
struct ServerPlan {
    listen: SocketAddr,
    settings: ServerSettings,
    tokens: ServerTokens,
    triggers: ServedTriggers,
    /// The name of the operator's token.
    operator: String,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let mut place = ProjectContext::here(&args.store)?;
    if args.link {
        return print_link(&place, console);
    }
    let plan = plan(args, &place)?;
    warn_of_files(args, &place, &plan.settings, console);
    let (sink, mut log) = sink(args.channel_log);
    place.watch = WatchPlan::serving(args.log);
    place.serve = ServePlan { own_agents: true, tokens: plan.tokens.clone(), log: sink };
    // Before the host starts, which repeats the calls that were open when the last one died.
    place.settings.remote_services().open();
    let operator = plan.operator.clone();
    let at_once = at_once(&place.settings, args.queue_at_once)?;
    hosting::block_on(async {
        let mut signals = Signals::new()?;
        let access = HostAccess::open(&place, &[], console).await?;
        let outcome = match listen(plan, &place, &access).await {
            Ok(server) => {
                let scheduler =
                    access.engine().map(|engine| tokio::spawn(Scheduler::new(engine, at_once).serve()));
                console.line(&format!("http://{}", server.address()))?;
                console.line(&new_link(&server.inviter(&operator))?)?;
                console.flush()?;
                if console.is_watched() {
                    let text = "the second address logs a browser in; valid once, for 10 minutes";
                    console.note(
                        TextStyle::Dim,
                        "login",
                        &format!("{text}; `rawko serve --link` prints another"),
                    );
                }
                let verdict = loop {
                    tokio::select! {
                        Some(line) = log.recv() => console.aside(&format!("{line}\n")),
                        verdict = signals.next() => break verdict,
                    }
                };
                if let Some(scheduler) = scheduler {
                    scheduler.abort();
                }
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
                None => console.note(TextStyle::Dim, "parked", "run `rawko serve` to continue all instances"),
                Some(host) => {
                    console.note(TextStyle::Dim, "stopped", &format!("instances continue in {host}"))
                }
            }
        }
        outcome
    })
}

async fn listen(
    plan: ServerPlan,
    place: &ProjectContext,
    access: &HostAccess,
) -> Result<HttpServer, CommandFailure> {
    let (engine, agent_services, channels) = served(place, access).await?;
    let notifies = !plan.settings.notify.is_empty();
    let options = AppOptions {
        world: place.world(),
        version: env!("CARGO_PKG_VERSION"),
        channels,
        project: Arc::new(ServedProject::new(place, Arc::clone(&engine), agent_services)),
        services: place.settings.remote_services().clone(),
        tokens: plan.tokens,
        settings: plan.settings,
        triggers: plan.triggers,
        metrics: access.telemetry().map(|telemetry| Arc::clone(telemetry.metrics())),
        logs: access.telemetry().and_then(|telemetry| telemetry.logs().cloned()),
        ..AppOptions::new(engine)
    };
    let cannot = |error: std::io::Error| {
        CommandFailure::Transient(format!("cannot listen on {}: {error}", plan.listen))
    };
    let listener = TcpListener::bind(plan.listen).await.map_err(cannot)?;
    let server = HttpServer::start(listener, options).map_err(cannot)?;
    server.run_triggers();
    if notifies {
        notify(&server, &plan.operator, place)?;
    }
    if let Some(local_client) = access.local_client() {
        let inviter = server.inviter(&plan.operator);
        local_client.invite_with(Box::new(move || new_link(&inviter)));
    }
    Ok(server)
}

/// Starts to send messages about requests to people. Sent messages are recorded beside the store of the project.
fn notify(server: &HttpServer, operator: &str, place: &ProjectContext) -> Result<(), CommandFailure> {
    let state = StateDir::of(place.settings.environment())
        .map_err(|error| CommandFailure::Invalid(error.to_string()))?;
    let outbox = state.project(&place.root).join("notifications.json");
    let options = NotifyOptions { outbox, signer: operator.to_owned() };
    server.notify(options).map_err(CommandFailure::Invalid)
}

fn new_link(inviter: &LinkIssuer) -> Result<String, CommandFailure> {
    let code = random_text()
        .map_err(|error| CommandFailure::Failed(format!("cannot read random bytes: {error}")))?;
    Ok(inviter.link(&code[..CODE_LEN]))
}

/// Asks the running server for a link.
fn print_link(place: &ProjectContext, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    if Lock::holder(&place.store).is_none() {
        return Err(CommandFailure::Usage("no server runs here; start `rawko serve`".to_owned()));
    }
    hosting::block_on(async {
        let mut access = HostAccess::open(place, &[], console).await?;
        let answer = access.ask(SocketRequest::Link).await;
        access.close(console).await;
        match answer {
            Ok(HostAnswer::Link { url }) => console.line(&url).map(|()| CommandVerdict::Done),
            Err(NoAnswer::Refused(failure)) => Err(failure),
            Ok(_) | Err(NoAnswer::Gone) => {
                Err(CommandFailure::Transient("the server does not respond".to_owned()))
            }
        }
    })
}

/// Returns the engine to serve: the host of this process with its channels, or instances on Restate, which have no
/// channels.
async fn served(place: &ProjectContext, access: &HostAccess) -> Result<ServedParts, CommandFailure> {
    let Some(local_client) = access.local_client() else {
        if let Some(engine) = access.engine() {
            return Ok((engine, place.agent_services().0, None));
        }
        let (store, other) = (place.shown(), access.other().unwrap_or_default());
        let help = "stop that process first";
        return Err(CommandFailure::Transient(format!(
            "cannot serve {store}: already hosted by {other}; {help}"
        )));
    };
    // Opened before the first connection is accepted.
    let serving = Arc::clone(local_client.serving().await?);
    let engine: Arc<dyn Engine> = Arc::new(local_client.host.clone());
    Ok((engine, Arc::clone(&local_client.agent_services), Some(serving)))
}

fn plan(args: &Args, place: &ProjectContext) -> Result<ServerPlan, CommandFailure> {
    let (settings, problems) = ServerSettings::read(&place.settings, &place.root);
    let words: Vec<String> = problems
        .into_iter()
        .flat_map(|(file, findings)| findings.into_iter().map(move |it| format!("{file}: {}", it.message)))
        .collect();
    if !words.is_empty() {
        return Err(CommandFailure::Invalid(format!("invalid settings\n{}", words.join("\n"))));
    }
    let mut tokens = settings.tokens(place.settings.environment()).map_err(CommandFailure::Invalid)?;
    let given = token(args)?;
    let is_chosen = given.is_some() || token_of_environment().is_some() || !tokens.is_empty();
    let own = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let listen = args.listen.or(settings.listen).unwrap_or(own);
    if !is_chosen && !listen.ip().is_loopback() {
        let help = "pass --token-file or set RAWKO_TOKEN";
        return Err(CommandFailure::Usage(format!("refusing to listen on {listen} without a token; {help}")));
    }
    let operator = place.operator()?;
    if tokens.has(operator.name()) {
        let why = "the operator has this name";
        let help = "rename the token in the settings";
        return Err(CommandFailure::Invalid(format!("duplicate token `{}`: {why}; {help}", operator.name())));
    }
    tokens = tokens.with(operator.name(), Role::Admin, given.as_deref().unwrap_or(operator.token()));
    let triggers = triggers(place, listen)?;
    Ok(ServerPlan { listen, settings, tokens, triggers, operator: operator.name().to_owned() })
}

/// Returns the triggers of the settings. Problems of the section stop every command that acts.
fn triggers(place: &ProjectContext, listen: SocketAddr) -> Result<ServedTriggers, CommandFailure> {
    let all = Triggers::read(&place.settings).all;
    let triggers = ServedTriggers::new(all, place.settings.environment()).map_err(CommandFailure::Invalid)?;
    match triggers.unsigned().filter(|_| !listen.ip().is_loopback()) {
        None => Ok(triggers),
        Some(name) => Err(CommandFailure::Invalid(format!(
            "refusing to listen on {listen}: webhook `{name}` has no signature; give it one, or listen on 127.0.0.1"
        ))),
    }
}

fn sink(format: ChannelLogFormat) -> (Option<LogSink>, mpsc::UnboundedReceiver<String>) {
    let (lines, log) = mpsc::unbounded_channel();
    let sink: Option<LogSink> = match format {
        ChannelLogFormat::None => None,
        ChannelLogFormat::Text => Some(Arc::new(move |entry: &LogEntry| drop(lines.send(words(entry))))),
        ChannelLogFormat::Json => Some(Arc::new(move |entry: &LogEntry| {
            drop(lines.send(serde_json::to_string(entry).unwrap_or_default()));
        })),
    };
    (sink, log)
}

fn words(entry: &LogEntry) -> String {
    match entry {
        LogEntry::Transition(line) => {
            format!(
                "{}  {}  {} → {}  {}",
                line.channel,
                line.agent,
                line.from.as_str(),
                line.to.as_str(),
                line.trigger.as_str()
            )
        }
        LogEntry::Warning(warning) => format!("{}  {}  {}", warning.channel, warning.agent, warning.message),
    }
}

/// Warns about tokens that agents can read.
fn warn_of_files(args: &Args, place: &ProjectContext, settings: &ServerSettings, console: &mut Console) {
    let root = place.root.canonicalize().unwrap_or_else(|_| place.root.clone());
    let is_inside = |path: &&Path| path.canonicalize().is_ok_and(|path| path.starts_with(&root));
    let flag = args.token_file.as_deref().filter(is_inside);
    for path in settings.token_files_below(&root).into_iter().chain(flag) {
        let text = format!("token file `{}` is in the project, where agents can read it", files::shown(path));
        console.note(TextStyle::Notice, "warning", &text);
    }
}

/// Reads the file of `--token-file`.
fn token(args: &Args) -> Result<Option<String>, CommandFailure> {
    let text = args.token_file.as_ref().map(|path| files::read_text(path)).transpose()?;
    Ok(text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
}
