//! Logs internal errors. Separate from the response, which must not contain them.

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use rawko_telemetry::LogLevel;

use super::app::App;
use super::metrics::{PAGE, method_of};

/// Attached to a response and removed here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResponseCause(pub(super) String);

pub(super) async fn log(State(app): State<App>, request: Request, next: Next) -> Response {
    let Some(logs) = app.logs().cloned() else { return next.run(request).await };
    let method = method_of(request.method());
    let route = request.extensions().get::<MatchedPath>().map_or(PAGE, MatchedPath::as_str).to_owned();
    let mut response = next.run(request).await;
    if let Some(ResponseCause(cause)) = response.extensions_mut().remove::<ResponseCause>() {
        let (asked, status) = (format!("{method} {route}"), response.status().as_u16());
        let fields = [("request", asked.into()), ("status", status.into())];
        logs.line(LogLevel::Error, &format!("request failed: {cause}"), &fields);
    }
    response
}
