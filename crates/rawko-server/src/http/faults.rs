//! Logs internal errors. Separate from the response, which must not contain them.

use axum::response::Response;
use rawko_telemetry::LogLevel;

use super::app::App;
use super::metrics::RequestRoute;

/// Attached to a response and removed here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResponseCause(pub(super) String);

pub(super) fn log(app: &App, route: &RequestRoute, response: &mut Response) {
    let Some(logs) = app.logs() else { return };
    if let Some(ResponseCause(cause)) = response.extensions_mut().remove::<ResponseCause>() {
        let (asked, status) = (format!("{} {}", route.method, route.path()), response.status().as_u16());
        let fields = [("request", asked.into()), ("status", status.into())];
        logs.line(LogLevel::Error, &format!("request failed: {cause}"), &fields);
    }
}
