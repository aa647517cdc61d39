//! Agents of the project: health and activity. With an upgrade header, the same path is the socket that agents connect
//! to.

mod work;

use std::sync::Arc;

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, Request, State};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Routes;
use super::access::{RequestCaller, is_upgrade, wrong_token};
use super::app::App;
use super::extract::Path;
use super::listen::PeerAddress;
use super::problem::{ErrorResponse, ProblemCode};
use super::project::{AgentHealth, AgentInfo, HealthState};
use crate::agents::{OnGuess, connect};
use work::{Work, work};

pub(crate) fn routes() -> Routes {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(read))
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AgentList {
    agents: Vec<Agent>,
}

/// An agent of the project, with its health.
#[derive(Debug, Serialize, ToSchema)]
struct Agent {
    name: String,
    #[serde(rename = "displayName")]
    display_name: String,
    /// `llm`, `process`, `acp`, `human`, `scripted` or `chart`; `remote` for one that is only connected.
    kind: String,
    model: Option<String>,
    description: String,
    /// File that defines it.
    file: String,
    health: AgentHealth,
    /// Connected to this server, in a channel or in none.
    connected: bool,
    /// Channels that it is a member of.
    channels: Vec<String>,
    #[serde(flatten)]
    work: Work,
}

/// List agents
///
/// With `Upgrade: websocket` this is the socket that agents connect to; see the agent protocol.
#[utoipa::path(get, path = "/v1/agents", tag = "agents", responses((status = 200, body = AgentList)))]
async fn list(
    State(app): State<App>,
    caller: Option<RequestCaller>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    if is_upgrade(request.headers()) {
        return socket(&app, caller, request).await;
    }
    let health = app.project().health().await;
    let mut done = app.compute(work).await?;
    let members = members(&app).await?;
    let mut all = app.project().agents();
    let connected = app.channels().map(|serving| serving.channels().hub().connected()).unwrap_or_default();
    let is_known = |name: &String| all.iter().any(|info| info.name == *name);
    let remote: Vec<AgentInfo> =
        connected.iter().filter(|name| !is_known(name)).map(|name| remote(name)).collect();
    all.extend(remote);
    let agents = all.into_iter().map(|info| {
        let in_it =
            |(channel, agents): &(String, Vec<String>)| agents.contains(&info.name).then(|| channel.clone());
        Agent {
            connected: connected.contains(&info.name),
            health: health_of(&info, &health),
            channels: members.iter().filter_map(in_it).collect(),
            work: done.remove(info.name.as_str()).unwrap_or_default(),
            name: info.name,
            display_name: info.display_name,
            kind: info.kind,
            model: info.model,
            description: info.description,
            file: info.file,
        }
    });
    Ok(axum::Json(AgentList { agents: agents.collect() }).into_response())
}

/// The definition of an agent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AgentDetails {
    name: String,
    /// Prompt, model, tools, permissions, limits and isolation, as far as its file has them.
    definition: serde_json::Value,
}

/// Read the definition of an agent
#[utoipa::path(get, path = "/v1/agents/{name}", tag = "agents", params(("name" = String, Path)),
    responses((status = 200, body = AgentDetails)))]
async fn read(
    State(app): State<App>,
    Path(name): Path<String>,
) -> Result<axum::Json<AgentDetails>, ErrorResponse> {
    match app.project().agent(&name) {
        Some(definition) => Ok(axum::Json(AgentDetails { name, definition })),
        None => Err(ErrorResponse::new(ProblemCode::NoAgent, format!("agent `{name}` not found"))),
    }
}

/// An agent that connected by itself and has no file in the project.
fn remote(name: &str) -> AgentInfo {
    AgentInfo {
        name: name.to_owned(),
        display_name: name.to_owned(),
        kind: "remote".to_owned(),
        model: None,
        description: String::new(),
        file: String::new(),
        broken: None,
    }
}

fn health_of(info: &AgentInfo, health: &[(String, AgentHealth)]) -> AgentHealth {
    let known = health.iter().find(|(name, _)| *name == info.name).map(|(_, health)| health.clone());
    let broken = info.broken.clone().map(|message| AgentHealth { state: HealthState::Broken, message });
    let unknown = || AgentHealth { state: HealthState::Unknown, message: String::new() };
    broken.or(known).unwrap_or_else(unknown)
}

/// Returns every channel with its assigned agents.
async fn members(app: &App) -> Result<Vec<(String, Vec<String>)>, ErrorResponse> {
    let Ok(serving) = app.channels() else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for name in serving.channels().names()? {
        let glance = serving.channels().look(&name).await?;
        let assigned = glance.channel.members.iter().filter(|(_, member)| member.assigned);
        let agents = assigned.map(|(agent, _)| agent.to_string()).collect();
        all.push((name, agents));
    }
    Ok(all)
}

async fn socket(
    app: &App,
    caller: Option<RequestCaller>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let gate = app.gate()?;
    let mut parts = request.into_parts().0;
    let not_one = |_| ErrorResponse::new(ProblemCode::InvalidRequest, "invalid WebSocket handshake");
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &()).await.map_err(not_one)?;
    let names = caller.and_then(|caller| caller.role.agent_names(&caller.name));
    let (asked, peer) = (app.clone(), parts.extensions.get::<PeerAddress>().copied());
    let on_guess: OnGuess = Arc::new(move || drop(wrong_token(&asked, peer)));
    connect(gate, upgrade, names, on_guess)
}
