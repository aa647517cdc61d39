//! The Prometheus endpoint, and the metrics of the server itself.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{Method, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use rawko_store::StoreError;
use rawko_telemetry::Metrics;
use tokio::net::TcpListener;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Routes;
use super::app::App;
use super::problem::{ErrorResponse, ProblemBody, ProblemCode};

const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Label for paths outside the API: the page, and unknown paths.
const PAGE: &str = "page";

pub(crate) fn routes() -> Routes {
    OpenApiRouter::new().routes(routes!(metrics))
}

/// Read metrics in Prometheus format
#[utoipa::path(get, path = "/metrics", tag = "server",
    responses((status = 200, content((String = "text/plain"))),
        (status = 404, description = "metrics are disabled", body = ProblemBody, content_type = "application/problem+json")))]
async fn metrics(State(app): State<App>) -> Result<Response, ErrorResponse> {
    let nothing = || ErrorResponse::new(ProblemCode::NotFound, "metrics are disabled on this server");
    let metrics = app.metrics().cloned().ok_or_else(nothing)?;
    let text = app.compute(move |_| Ok::<_, StoreError>(metrics.render())).await?;
    Ok(([(header::CONTENT_TYPE, KIND)], text).into_response())
}

/// Serves only the metrics, for a process without other endpoints.
pub async fn serve_metrics(listener: TcpListener, metrics: Arc<Metrics>) -> std::io::Result<()> {
    let door = get(move || {
        let text = metrics.render();
        async move { ([(header::CONTENT_TYPE, KIND)], text) }
    });
    axum::serve(listener, Router::new().route("/metrics", door)).await
}

/// Returns a known method name, or one common word for others: clients must not be able to create labels.
fn method_of(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// Method and route of a request, for metrics and the log.
pub(super) struct RequestRoute {
    pub(super) method: &'static str,
    matched: Option<MatchedPath>,
}

impl RequestRoute {
    pub(super) fn of(request: &Request) -> RequestRoute {
        let matched = request.extensions().get::<MatchedPath>().cloned();
        RequestRoute { method: method_of(request.method()), matched }
    }

    /// Returns the pattern and not the path: ids would make the labels of metrics unbounded.
    pub(super) fn path(&self) -> &str {
        self.matched.as_ref().map_or(PAGE, MatchedPath::as_str)
    }
}

/// Counts a request.
pub(super) fn count(app: &App, route: &RequestRoute, response: &Response, took: Duration) {
    if let Some(metrics) = app.metrics() {
        metrics.request(route.method, route.path(), response.status().as_u16(), took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_that_clients_make_up_are_one_word() {
        let word = |method: &[u8]| method_of(&Method::from_bytes(method).unwrap());
        assert_eq!(
            [word(b"GET"), word(b"DELETE"), word(b"BREW"), word(b"BREW2")],
            ["GET", "DELETE", "other", "other"]
        );
    }
}
