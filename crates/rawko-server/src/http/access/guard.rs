//! Guard: the first check of a request. Checks its origin, caller, rate and permission.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{FromRequestParts, OptionalFromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

use super::roles::needed;
use super::visit::cookie_of;
use crate::http::app::App;
use crate::http::limits::BucketOwner;
use crate::http::listen::PeerAddress;
use crate::http::problem::{ErrorResponse, ProblemCode};
use crate::role::Role;
use crate::tokens::Token;

/// A wrong token costs as much as this many requests.
const WRONG_TOKEN_COST: f64 = 50.0;

/// Caller of a request, as far as it is known.
#[derive(Clone, Debug)]
pub(crate) struct RequestCaller {
    /// Name of the token; `local` if none is required.
    pub(crate) name: Arc<str>,
    pub(crate) role: Role,
    /// True if a token was presented.
    is_proven: bool,
}

impl RequestCaller {
    /// Returns the author of a request, and another name that the request claims.
    pub(crate) fn author(&self, claimed: Option<String>) -> (Option<String>, Option<String>) {
        let by = self.person(claimed.clone());
        let claimed = claimed.filter(|claimed| !claimed.is_empty() && by.as_ref() != Some(claimed));
        (by, claimed)
    }

    /// Returns the author of a request. The token's name overrides the name in the request, which is only used if no
    /// token is required.
    pub(crate) fn person(&self, claimed: Option<String>) -> Option<String> {
        if self.is_proven { Some(self.name.to_string()) } else { claimed }
    }
}

/// Result of the guard, attached to every request.
#[derive(Clone, Debug, Default)]
struct GuardResult(Option<RequestCaller>);

/// Returns the caller that the guard found.
pub(crate) fn caller_of(extensions: &axum::http::Extensions) -> Option<RequestCaller> {
    extensions.get::<GuardResult>().and_then(|found| found.0.clone())
}

/// Admits a request and attaches its caller.
pub(crate) fn guard(app: &App, request: &mut Request) -> Result<(), ErrorResponse> {
    let caller = admit(app, request)?;
    request.extensions_mut().insert(GuardResult(caller));
    Ok(())
}

fn admit(app: &App, request: &Request) -> Result<Option<RequestCaller>, ErrorResponse> {
    let (headers, path) = (request.headers(), request.uri().path());
    app.access().names.check(request.method(), request.uri(), headers)?;
    let peer = request.extensions().get::<PeerAddress>().copied();
    let caller = match caller(app, headers) {
        Ok(caller) => caller,
        Err(WrongToken) => return Err(wrong_token(app, peer)),
    };
    let named = caller.as_ref().filter(|_| !app.access().tokens.is_empty()).map(|caller| &caller.name);
    app.buckets().take(BucketOwner::new(named, peer.map(|PeerAddress(address)| address.ip())), 1.0)?;
    // Agents and programs may present their token later, when they register.
    let needed = if is_socket(path, headers) { None } else { needed(request.method(), path) };
    match (needed, &caller) {
        (None, _) => Ok(caller),
        (Some(role), Some(known)) if known.role >= role => Ok(caller),
        (Some(role), Some(known)) => {
            let detail = format!(
                "the role `{}` is required; the token has the role `{}`",
                role.as_str(),
                known.role.as_str()
            );
            Err(ErrorResponse::new(ProblemCode::Forbidden, detail))
        }
        (Some(_), None) => Err(ErrorResponse::new(
            ProblemCode::Unauthorized,
            "a token is required: send `Authorization: Bearer …`",
        )),
    }
}

/// Returns the response to a wrong token, presented in any way. The rate limit makes guessing infeasible.
pub(crate) fn wrong_token(app: &App, peer: Option<PeerAddress>) -> ErrorResponse {
    let address = peer.map(|PeerAddress(address)| address.ip());
    let wrong = ErrorResponse::new(ProblemCode::Unauthorized, "invalid token");
    app.buckets().take(BucketOwner::new(None, address), WRONG_TOKEN_COST).err().unwrap_or(wrong)
}

struct WrongToken;

/// Identifies the caller by bearer token, or by the page's cookie. A wrong token is an error, a missing one is not.
fn caller(app: &App, headers: &HeaderMap) -> Result<Option<RequestCaller>, WrongToken> {
    let tokens = &app.access().tokens;
    if tokens.is_empty() {
        return Ok(Some(RequestCaller { name: "local".into(), role: Role::Admin, is_proven: false }));
    }
    let found =
        |token: &Token| RequestCaller { name: Arc::clone(&token.name), role: token.role, is_proven: true };
    if let Some(authorization) = headers.get(header::AUTHORIZATION) {
        let bearer = authorization.to_str().ok().and_then(bearer_of);
        let token = bearer.and_then(|bearer| tokens.find(bearer));
        return token.map(found).ok_or(WrongToken).map(Some);
    }
    let visit = cookie_of(headers).and_then(|cookie| tokens.of_visit(cookie, app.now_ms()));
    Ok(visit.map(found))
}

fn bearer_of(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn is_socket(path: &str, headers: &HeaderMap) -> bool {
    matches!(path, "/v1/agents" | "/v1/services") && is_upgrade(headers)
}

/// Returns true if the request asks for a protocol upgrade.
pub(crate) fn is_upgrade(headers: &HeaderMap) -> bool {
    headers.contains_key(header::UPGRADE)
}

/// For handlers that require a caller.
impl<S: Send + Sync> FromRequestParts<S> for RequestCaller {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        let unknown = || ErrorResponse::new(ProblemCode::Unauthorized, "a token is required");
        parts.extensions.get::<GuardResult>().and_then(|found| found.0.clone()).ok_or_else(unknown)
    }
}

/// For handlers without authentication.
impl<S: Send + Sync> OptionalFromRequestParts<S> for RequestCaller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Infallible> {
        Ok(parts.extensions.get::<GuardResult>().and_then(|found| found.0.clone()))
    }
}
