//! Health of the server. Public, but callers without a token receive few details.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use rawko_store::{Filter, StoreError};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Routes;
use super::access::RequestCaller;
use super::app::App;
use crate::role::Role;

pub(crate) fn routes() -> Routes {
    OpenApiRouter::new().routes(routes!(health))
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    status: HealthWord,
    #[serde(flatten)]
    more: Option<More>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum HealthWord {
    Ok,
    /// The store is unavailable.
    Degraded,
}

/// Only for callers with a role.
#[derive(Debug, Serialize, ToSchema)]
struct More {
    version: &'static str,
    uptime_ms: u64,
    instances: u64,
    store: StoreHealth,
}

#[derive(Debug, Serialize, ToSchema)]
struct StoreHealth {
    ok: bool,
    /// Sequence number of the last record.
    last_seq: u64,
}

/// Check the health of the server
#[utoipa::path(get, path = "/v1/health", tag = "server",
    responses((status = 200, body = Health), (status = 503, description = "the store is unavailable", body = Health)))]
async fn health(State(app): State<App>, caller: Option<RequestCaller>) -> Response {
    let looked = app.read(look).await;
    let ok = looked.is_ok();
    let (instances, last_seq) = looked.unwrap_or_default();
    let more = caller.filter(|caller| caller.role >= Role::Read).map(|_| More {
        version: app.version(),
        uptime_ms: app.uptime_ms(),
        instances,
        store: StoreHealth { ok, last_seq },
    });
    let (code, status) = if ok {
        (StatusCode::OK, HealthWord::Ok)
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, HealthWord::Degraded)
    };
    (code, axum::Json(Health { status, more })).into_response()
}

fn look(app: &App) -> Result<(u64, u64), StoreError> {
    let store = app.reader().store();
    // Reads succeed on a full disk and on a deleted file, so the probe checks that an event could be acknowledged.
    store.probe()?;
    let page = store.list(&Filter { limit: 1, ..Filter::default() })?;
    Ok((page.total, store.last_seq()?))
}
