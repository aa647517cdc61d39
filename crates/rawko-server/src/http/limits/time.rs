//! Timeout of responses. It covers only the start of a response, so streams are not affected.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::http::app::App;
use crate::http::problem::{ErrorResponse, ProblemCode};

pub(crate) async fn in_time(State(app): State<App>, request: Request, next: Next) -> Response {
    let late = |_| {
        let detail = "timeout; the operation may still complete";
        ErrorResponse::new(ProblemCode::TimedOut, detail).into_response()
    };
    tokio::time::timeout(app.patience().answer, next.run(request)).await.unwrap_or_else(late)
}
