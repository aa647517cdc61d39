//! Agents: who can be put to work, and how they are. The same path is the agents' socket for whoever asks to upgrade.

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, Request, State};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Routes;
use super::access::{Caller, Role, is_upgrade};
use super::app::App;
use super::problem::{Problem, ProblemCode};
use super::project::{AgentHealth, AgentInfo, HealthState};
use crate::agents::connect;

pub(crate) fn routes() -> Routes {
    OpenApiRouter::new().routes(routes!(list))
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AgentList {
    agents: Vec<Agent>,
}

/// An agent of the project, and how it is.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Agent {
    name: String,
    display_name: String,
    /// `llm`, `process`, `acp`, `human` or `scripted`.
    kind: String,
    model: Option<String>,
    description: String,
    /// Where it is described.
    file: String,
    health: AgentHealth,
}

/// All agents
///
/// With `Upgrade: websocket` this is the socket that agents connect to, see the agents' protocol.
#[utoipa::path(get, path = "/v1/agents", tag = "agents", responses((status = 200, body = AgentList)))]
async fn list(State(app): State<App>, caller: Option<Caller>, request: Request) -> Response {
    if is_upgrade(request.headers()) {
        return socket(&app, caller, request).await.unwrap_or_else(IntoResponse::into_response);
    }
    let health = app.project().health().await;
    let agents = app.project().agents().into_iter().map(|info| agent(info, &health)).collect();
    axum::Json(AgentList { agents }).into_response()
}

fn agent(info: AgentInfo, health: &[(String, AgentHealth)]) -> Agent {
    let known = health.iter().find(|(name, _)| *name == info.name).map(|(_, health)| health.clone());
    let unknown = || AgentHealth { state: HealthState::Unknown, message: String::new() };
    let broken = info.broken.map(|message| AgentHealth { state: HealthState::Broken, message });
    Agent {
        health: broken.or(known).unwrap_or_else(unknown),
        name: info.name,
        display_name: info.display_name,
        kind: info.kind,
        model: info.model,
        description: info.description,
        file: info.file,
    }
}

async fn socket(app: &App, caller: Option<Caller>, request: Request) -> Result<Response, Problem> {
    let gate = app.gate()?;
    let mut parts = request.into_parts().0;
    let not_one = |_| Problem::new(ProblemCode::InvalidRequest, "this is not how a WebSocket begins");
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &()).await.map_err(not_one)?;
    let trusted = caller.is_some_and(|caller| caller.role >= Role::Operate);
    connect(gate, upgrade, trusted)
}
