//! Services that other programs provide: who is connected and what waits. With an upgrade header, the same path is the
//! socket that those programs connect to.

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
use super::listen::PeerAddress;
use super::problem::{ErrorResponse, ProblemCode};
use crate::agents::{OnGuess, READ_BUFFER_BYTES};
use crate::services::{FRAME_BYTES_MAX, MESSAGE_BYTES_MAX, ServiceConnections, serve};

pub(crate) fn routes() -> Routes {
    OpenApiRouter::new().routes(routes!(list))
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ServiceList {
    services: Vec<RemoteServiceInfo>,
}

/// A service that other programs provide.
#[derive(Debug, Serialize, ToSchema)]
struct RemoteServiceInfo {
    /// Its name in the settings and in charts.
    name: String,
    /// Names of the connected programs that provide it.
    programs: Vec<String>,
    /// Calls that wait for a program.
    waiting: usize,
    /// Calls that a program has.
    running: usize,
}

/// List the services that other programs provide
///
/// With `Upgrade: websocket` this is the socket that those programs connect to; see the service protocol.
#[utoipa::path(get, path = "/v1/services", tag = "server", responses((status = 200, body = ServiceList)))]
async fn list(
    State(app): State<App>,
    caller: Option<RequestCaller>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    if is_upgrade(request.headers()) {
        return socket(&app, caller, request).await;
    }
    let of = |(name, programs, waiting, running)| RemoteServiceInfo { name, programs, waiting, running };
    let services = app.services().list().into_iter().map(of).collect();
    Ok(axum::Json(ServiceList { services }).into_response())
}

async fn socket(
    app: &App,
    caller: Option<RequestCaller>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let mut parts = request.into_parts().0;
    let not_one = |_| ErrorResponse::new(ProblemCode::InvalidRequest, "invalid WebSocket handshake");
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &()).await.map_err(not_one)?;
    let trusted = match caller {
        Some(caller) if caller.role.provides_services() => true,
        Some(caller) => {
            let role = caller.role.as_str();
            let detail = format!("the role `service` is required; the token has the role `{role}`");
            return Err(ErrorResponse::new(ProblemCode::Forbidden, detail));
        }
        None => false,
    };
    // Each connection holds a place, as event streams do.
    let place = app.stream()?;
    let (asked, peer) = (app.clone(), parts.extensions.get::<PeerAddress>().copied());
    let on_guess: OnGuess = Arc::new(move || drop(wrong_token(&asked, peer)));
    let shared = ServiceConnections {
        services: app.services().clone(),
        tokens: app.access().tokens.clone(),
        closing: app.closing(),
    };
    let most = if trusted { FRAME_BYTES_MAX } else { MESSAGE_BYTES_MAX };
    let upgrade = upgrade.max_message_size(most).max_frame_size(most);
    let upgrade = upgrade.read_buffer_size(READ_BUFFER_BYTES);
    Ok(upgrade.on_upgrade(move |socket| async move {
        serve(socket, shared, trusted, on_guess).await;
        drop(place);
    }))
}
