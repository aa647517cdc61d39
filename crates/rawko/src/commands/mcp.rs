//! `rawko mcp`: serves the project's workflows to an MCP client over stdio, and logs the person in at MCP servers that the
//! project uses.

use std::sync::Arc;

use rawko_server::{McpOptions, serve_mcp_stdio};

use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::following::Signals;
use crate::hosting::{self, HostAccess, ProjectContext, StoreArgs};
use crate::served::ServedProject;

const EXAMPLES: &str = "\
Without a subcommand, rawko is an MCP server for the client that starts it: each chart is a tool,
and so are tasks of the agents (`rawko_task`); each instance is a task of the protocol, requests to
people become questions of the client, log lines its log, and journals and drawings are resources. A
client needs the command `rawko mcp` and the project as working directory.
`rawko serve` has the same server at /mcp, which needs the operator's token. An agent of rawko can
use neither.

`login` authorizes rawko at a server of `.mcp.json` that requires it: open the printed address in a
browser on this machine. The login is stored in the state directory, for you and for no agent.

Examples:
  claude mcp add rawko -- rawko mcp
  rawko mcp login linear
  rawko mcp logout linear";

/// Serve workflows to MCP clients; log in to MCP servers
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Authorize rawko at an MCP server of the project
    Login {
        /// Name of the server in `.mcp.json`
        name: String,
    },
    /// Forget the login at an MCP server
    Logout {
        /// Name of the server in `.mcp.json`
        name: String,
    },
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    match &args.action {
        None => serve(&place, console),
        Some(Action::Login { name }) => login(&place, name, console),
        Some(Action::Logout { name }) => logout(&place, name, console),
    }
}

fn serve(place: &ProjectContext, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let operator = place.operator()?;
    let key = blake3::derive_key("rawko 2026-11 MCP request state", operator.token().as_bytes());
    hosting::block_on(async {
        let mut signals = Signals::new()?;
        let access = HostAccess::open(place, &[], console).await?;
        let engine = match access.engine() {
            Some(engine) => engine,
            None => access.holder(place)?,
        };
        let agent_services = place.agent_services().0;
        let options = McpOptions {
            project: Arc::new(ServedProject::new(place, Arc::clone(&engine), agent_services)),
            world: place.world(),
            version: env!("CARGO_PKG_VERSION"),
            person: Some(operator.name().to_owned()),
            ..McpOptions::new(engine, key)
        };
        let outcome = tokio::select! {
            served = serve_mcp_stdio(options) => served.map(|()| CommandVerdict::Done).map_err(CommandFailure::Failed),
            verdict = signals.next() => Ok(verdict),
        };
        access.close(console).await;
        outcome
    })
}

fn login(
    place: &ProjectContext,
    name: &str,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    // Who cannot act on instances cannot log in for the person either.
    place.operator()?;
    place.insist_on_settings(console)?;
    place.insist_on_trust(console)?;
    let servers = place.agent_services().0.servers.clone();
    hosting::block_on(async {
        let show = |url: &str| crate::console::announce(&format!("open this address to log in: {url}"));
        let mut signals = Signals::new()?;
        tokio::select! {
            done = servers.login(name, &show) => done.map_err(CommandFailure::Failed)?,
            verdict = signals.next() => return Ok(verdict),
        }
        console.note(TextStyle::Good, "logged in", &format!("rawko may use the MCP server `{name}`"));
        Ok(CommandVerdict::Done)
    })
}

fn logout(
    place: &ProjectContext,
    name: &str,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    place.operator()?;
    let servers = place.agent_services().0.servers.clone();
    let was_there = hosting::block_on(async { servers.logout(name).await.map_err(CommandFailure::Usage) })?;
    let text = if was_there { "the login is deleted" } else { "there was no login" };
    console.note(TextStyle::Dim, "logged out", &format!("{text}: `{name}`"));
    Ok(CommandVerdict::Done)
}
