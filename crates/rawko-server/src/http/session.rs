//! Login: the page exchanges a token for a cookie, because an event stream cannot send headers.

use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Routes;
use super::access::{COOKIE, RequestCaller, VISIT_MS, wrong_token};
use super::app::App;
use super::extract::{Json, Path};
use super::listen::PeerAddress;
use super::problem::{ErrorResponse, ProblemCode};
use crate::role::Role;
use crate::tokens::Token;

pub(crate) fn routes() -> Routes {
    OpenApiRouter::new().routes(routes!(look, log_in, log_out))
}

/// Identity of the caller.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Session {
    /// `null` if the caller is unknown.
    role: Option<Role>,
    /// True if a token is required.
    required: bool,
    /// True if this server can remove instances.
    can_prune: bool,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogIn {
    #[schema(min_length = 1, max_length = 4096)]
    token: String,
}

/// Read the current session
#[utoipa::path(get, path = "/v1/session", tag = "session", responses((status = 200, body = Session)))]
async fn look(State(app): State<App>, caller: Option<RequestCaller>) -> axum::Json<Session> {
    axum::Json(session(&app, caller.map(|caller| caller.role)))
}

/// Log in with a token
///
/// Sets the cookie `rawko_session`, which is valid for twelve hours, or until the token changes.
#[utoipa::path(post, path = "/v1/session", tag = "session", request_body = LogIn,
    responses((status = 200, body = Session)))]
async fn log_in(
    State(app): State<App>,
    headers: HeaderMap,
    peer: Option<Extension<PeerAddress>>,
    Json(LogIn { token }): Json<LogIn>,
) -> Result<Response, ErrorResponse> {
    let tokens = &app.access().tokens;
    if tokens.is_empty() {
        return Ok(axum::Json(session(&app, Some(Role::Admin))).into_response());
    }
    let Some(token) = tokens.find(token.trim()) else {
        return Err(wrong_token(&app, peer.map(|Extension(peer)| peer)));
    };
    if token.role < Role::Read {
        let detail = "the token is for a program; a person needs the role `read` or more";
        return Err(ErrorResponse::new(ProblemCode::Forbidden, detail));
    }
    let cookie = visit(&app, token, &headers);
    Ok(([(header::SET_COOKIE, cookie)], axum::Json(session(&app, Some(token.role)))).into_response())
}

/// Logs a browser in by a one-time link. The redirect removes the code from the address bar.
pub(super) async fn enter(
    State(app): State<App>,
    method: Method,
    headers: HeaderMap,
    peer: Option<Extension<PeerAddress>>,
    Path(code): Path<String>,
) -> Result<Response, ErrorResponse> {
    // Neither a look at the headers nor a browser that reads ahead uses up the link.
    let is_ahead = ["sec-purpose", "purpose"].iter().any(|name| {
        headers.get(*name).and_then(|value| value.to_str().ok()).is_some_and(|text| text.contains("prefetch"))
    });
    if method != Method::GET || is_ahead {
        return Err(ErrorResponse::new(ProblemCode::MethodNotAllowed, "open the link with a GET request"));
    }
    let name = app.access().links.take(&code, app.now_ms());
    let token = name.as_deref().and_then(|name| app.access().tokens.named(name));
    let Some(token) = token else {
        let limited = wrong_token(&app, peer.map(|Extension(peer)| peer));
        if limited.code() != ProblemCode::Unauthorized {
            return Err(limited);
        }
        let detail = "this link was used before or has expired; `rawko serve --link` prints another";
        return Err(ErrorResponse::new(ProblemCode::Unauthorized, detail));
    };
    let cookie = visit(&app, token, &headers);
    Ok((
        StatusCode::SEE_OTHER,
        [(header::SET_COOKIE, cookie), (header::LOCATION, HeaderValue::from_static("/"))],
    )
        .into_response())
}

/// Returns the cookie of a new session.
fn visit(app: &App, token: &Token, headers: &HeaderMap) -> HeaderValue {
    cookie(&token.visit(app.now_ms() + VISIT_MS), VISIT_MS / 1000, headers)
}

/// Log out
#[utoipa::path(delete, path = "/v1/session", tag = "session", responses((status = 200, body = Session)))]
async fn log_out(State(app): State<App>, headers: HeaderMap) -> Response {
    let role = app.access().tokens.is_empty().then_some(Role::Admin);
    ([(header::SET_COOKIE, cookie("", 0, &headers))], axum::Json(session(&app, role))).into_response()
}

fn session(app: &App, role: Option<Role>) -> Session {
    Session { role, required: !app.access().tokens.is_empty(), can_prune: app.engine().can_remove() }
}

fn cookie(value: &str, age_s: i64, headers: &HeaderMap) -> HeaderValue {
    // A proxy that terminates TLS sets this header; the browser then never sends the cookie unencrypted.
    let by_tls = headers.get("x-forwarded-proto").is_some_and(|proto| proto == "https");
    let secure = if by_tls { "; Secure" } else { "" };
    let text = format!("{COOKIE}={value}; Path=/; Max-Age={age_s}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
}
