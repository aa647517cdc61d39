//! `rawko serve`: hosts the project and listens for agents until it is told to stop.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use rawko_server::Entry;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::console::{Console, Style};
use crate::failure::{Failure, Verdict};
use crate::files;
use crate::following::Signals;
use crate::hosting::{self, Access, Place, ServePlan, StoreArgs};

const EXAMPLES: &str = "\
Everything in the store goes on: instances, timers, channels. Agents connect to
ws://ADDRESS/v1/agents and speak the protocol of docs/formats/agent-protocol.md; agents whose
`command` the settings give are started here. Other rawkos of yours work through this one.

Every transition of an agent is a JSON line on standard error. Ctrl-C parks everything; the next
`serve` goes on where this one stopped.

On another address than loopback a token is required: in the file of --token-file, or in
RAWKO_TOKEN. Agents show it as `token` when they register, or as `Authorization: Bearer`.

Examples:
  rawko serve
  rawko serve --listen 127.0.0.1:9000
  RAWKO_TOKEN=… rawko serve --listen 0.0.0.0:7411";

/// Host the project: instances go on, agents connect and take turns in channels
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7411")]
    listen: SocketAddr,

    /// A file with the token that agents must show
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Verdict, Failure> {
    let token = token(args)?;
    if token.is_none() && !args.listen.ip().is_loopback() {
        let help = "give --token-file or RAWKO_TOKEN, or listen on 127.0.0.1";
        return Err(Failure::Usage(format!("whoever reaches {} could join: {help}", args.listen)));
    }
    let (lines, mut log) = mpsc::unbounded_channel();
    let sink = move |entry: &Entry| drop(lines.send(serde_json::to_string(entry).unwrap_or_default()));
    let mut place = Place::here(&args.store)?;
    place.serve = ServePlan { own_agents: true, token, log: Some(Arc::new(sink)) };
    hosting::block_on(async {
        let mut signals = Signals::new()?;
        let access = Access::open(&place, &[], console).await?;
        let outcome = match listen(args, &access).await {
            Ok(address) => {
                console.line(&format!("listening on ws://{address}/v1/agents"))?;
                console.flush()?;
                loop {
                    tokio::select! {
                        Some(line) = log.recv() => console.aside(&format!("{line}\n")),
                        verdict = signals.next() => break Ok(verdict),
                    }
                }
            }
            Err(failure) => Err(failure),
        };
        access.close(console).await;
        while let Ok(line) = log.try_recv() {
            console.aside(&format!("{line}\n"));
        }
        if outcome.is_ok() {
            console.note(Style::Dim, "parked", "`rawko serve` goes on with everything");
        }
        outcome
    })
}

async fn listen(args: &Args, access: &Access) -> Result<SocketAddr, Failure> {
    let Some(desk) = access.desk() else {
        let other = access.other().unwrap_or_default();
        return Err(Failure::Transient(format!("{other} hosts this store already")));
    };
    // Before anybody can connect, everything is there.
    let serving = desk.serving().await?;
    let cannot =
        |error: std::io::Error| Failure::Transient(format!("cannot listen on {}: {error}", args.listen));
    let listener = TcpListener::bind(args.listen).await.map_err(cannot)?;
    serving.listen(listener).map_err(cannot)
}

fn token(args: &Args) -> Result<Option<String>, Failure> {
    let text = match &args.token_file {
        Some(path) => Some(files::read_text(path)?),
        None => std::env::var("RAWKO_TOKEN").ok(),
    };
    Ok(text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
}
