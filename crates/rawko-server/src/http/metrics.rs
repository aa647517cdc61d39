//! Numbers for Prometheus. Whoever measures hands them in; here is only the door.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Routes;
use super::app::App;
use super::problem::{Problem, ProblemCode};

const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) fn routes() -> Routes {
    OpenApiRouter::new().routes(routes!(metrics))
}

/// Metrics, as Prometheus reads them
#[utoipa::path(get, path = "/metrics", tag = "server",
    responses((status = 200, content((String = "text/plain"))), (status = 404, description = "nothing is measured")))]
async fn metrics(State(app): State<App>) -> Result<Response, Problem> {
    let nothing = || Problem::new(ProblemCode::NotFound, "this server measures nothing");
    let write = app.metrics().ok_or_else(nothing)?;
    Ok(([(header::CONTENT_TYPE, KIND)], write()).into_response())
}
