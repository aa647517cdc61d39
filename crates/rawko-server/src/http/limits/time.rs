//! How long an answer may take. A stream is answered at once, and goes on after this has looked away.

use std::time::Duration;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::http::problem::{Problem, ProblemCode};

const ANSWER_WITHIN: Duration = Duration::from_secs(30);

pub(crate) async fn in_time(request: Request, next: Next) -> Response {
    let late = |_| {
        let detail = "the answer takes too long; what was asked may still be done";
        Problem::new(ProblemCode::TimedOut, detail).into_response()
    };
    tokio::time::timeout(ANSWER_WITHIN, next.run(request)).await.unwrap_or_else(late)
}
