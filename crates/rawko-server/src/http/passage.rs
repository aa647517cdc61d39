//! What every request passes on its way to its handler, and every response on its way back. One middleware: each of several
//! would copy all that are below it for every request.

use std::time::Instant;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::app::App;
use super::metrics::RequestRoute;
use super::{access, faults, headers, limits, metrics, panics};

pub(super) async fn pass(State(app): State<App>, request: Request, next: Next) -> Response {
    let (route, from) = (RequestRoute::of(&request), Instant::now());
    let mut response = panics::contain(admitted(&app, request, next)).await;
    faults::log(&app, &route, &mut response);
    let response = headers::finish(response);
    metrics::count(&app, &route, &response, from.elapsed());
    response
}

/// Passes the request to its handler if its caller may send it.
async fn admitted(app: &App, mut request: Request, next: Next) -> Response {
    if let Err(problem) = access::guard(app, &mut request) {
        return problem.into_response();
    }
    let answer = async {
        match limits::whole_body(app, request).await {
            Ok(request) => limits::once(app, request, next).await,
            Err(problem) => problem.into_response(),
        }
    };
    limits::in_time(app, answer).await
}
