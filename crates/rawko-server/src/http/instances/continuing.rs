//! Continuing a task: a message while it runs, a follow-up once it has ended, a higher limit where it stopped at one.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::ToSchema;

use super::actions::person;
use super::receipt::{ReceiptBody, created};
use crate::http::access::RequestCaller;
use crate::http::app::App;
use crate::http::extract::{Json, Path};
use crate::http::problem::ErrorResponse;
use crate::http::work::{ContinueRequest, NewLimits, RaiseRequest};

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContinueBody {
    /// Message for the agents; what to do next, if the task has ended.
    text: Option<String>,
}

/// Continue a task
///
/// A running task gets the message, a paused one is resumed with it. A task that has ended is followed up by a new one,
/// with the conversations of its agents: `instance` is the task that continues.
#[utoipa::path(post, path = "/v1/tasks/{id}/continue", tag = "tasks", params(("id" = String, Path)),
    request_body = ContinueBody, responses((status = 201, body = ReceiptBody)))]
pub(super) async fn continue_task(
    State(app): State<App>,
    caller: RequestCaller,
    Path(id): Path<String>,
    Json(ContinueBody { text }): Json<ContinueBody>,
) -> Result<Response, ErrorResponse> {
    let text = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    app.project().continue_task(ContinueRequest { id, text, by: person(&caller) }).await.map(created)
}

/// Raise the limit of a task
///
/// Continues a task that ended at a limit, in a new instance with the given limits.
#[utoipa::path(post, path = "/v1/tasks/{id}/raise", tag = "tasks", params(("id" = String, Path)),
    request_body = NewLimits, responses((status = 201, body = ReceiptBody)))]
pub(super) async fn raise(
    State(app): State<App>,
    Path(id): Path<String>,
    Json(limits): Json<NewLimits>,
) -> Result<Response, ErrorResponse> {
    app.project().raise(RaiseRequest { id, limits }).await.map(created)
}
