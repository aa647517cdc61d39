//! Timeout of responses. It covers only the start of a response, so streams are not affected.

use axum::response::{IntoResponse, Response};

use crate::http::app::App;
use crate::http::problem::{ErrorResponse, ProblemCode};

pub(crate) async fn in_time(app: &App, answer: impl Future<Output = Response>) -> Response {
    let late = |_| {
        let detail = "timeout; the operation may still complete";
        ErrorResponse::new(ProblemCode::TimedOut, detail).into_response()
    };
    tokio::time::timeout(app.patience().answer, answer).await.unwrap_or_else(late)
}
