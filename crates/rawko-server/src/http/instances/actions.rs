//! Actions on an instance: send an event, cancel, retry, pause, resume, fork. Each responds once the change is on disk.

use axum::extract::State;
use axum::response::Response;
use rawko_core::NamedEvent;
use rawko_host::Fork;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::receipt::{ReceiptBody, check_id, created};
use crate::http::access::RequestCaller;
use crate::http::app::App;
use crate::http::extract::{IdempotencyKey, Json, Path};
use crate::http::problem::{ErrorResponse, ProblemCode};

const TYPE_CHARS_MAX: usize = 200;

type ActionResult = Result<axum::Json<ReceiptBody>, ErrorResponse>;

/// An event.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventBody {
    #[serde(rename = "type")]
    #[schema(min_length = 1, max_length = 200, example = "PAY")]
    kind: String,
    #[serde(default)]
    data: Value,
}

/// Send an event
///
/// Responds with the result once it is on disk. With an `Idempotency-Key` a repeated delivery is applied once, even
/// across a restart.
#[utoipa::path(post, path = "/v1/instances/{id}/events", tag = "instances", params(("id" = String, Path)),
    request_body = EventBody, responses((status = 200, body = ReceiptBody)))]
pub(super) async fn send(
    State(app): State<App>,
    Path(id): Path<String>,
    IdempotencyKey(key): IdempotencyKey,
    Json(EventBody { kind, data }): Json<EventBody>,
) -> ActionResult {
    if kind.trim().is_empty() || kind.chars().count() > TYPE_CHARS_MAX {
        let detail = format!("the `type` of an event must have 1 to {TYPE_CHARS_MAX} characters");
        return Err(ErrorResponse::new(ProblemCode::InvalidBody, detail));
    }
    let receipt = app.engine().send(id, NamedEvent::new(kind, data.into()), key).await?;
    Ok(axum::Json(receipt.into()))
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CancelBody {
    /// Reason, visible to the chart and in the journal.
    #[serde(default)]
    reason: Value,
}

/// Cancel an instance
///
/// Runs exit actions, and stops timers and invoked work.
#[utoipa::path(post, path = "/v1/instances/{id}/cancel", tag = "instances", params(("id" = String, Path)),
    request_body = CancelBody, responses((status = 200, body = ReceiptBody)))]
pub(super) async fn cancel(
    State(app): State<App>,
    Path(id): Path<String>,
    Json(CancelBody { reason }): Json<CancelBody>,
) -> ActionResult {
    Ok(axum::Json(app.engine().cancel(id, reason.into()).await?.into()))
}

/// Retry
///
/// Restarts the failed call of an instance in status `error`, or continues after a fault.
#[utoipa::path(post, path = "/v1/instances/{id}/retry", tag = "instances", params(("id" = String, Path)),
    responses((status = 200, body = ReceiptBody)))]
pub(super) async fn retry(State(app): State<App>, Path(id): Path<String>) -> ActionResult {
    Ok(axum::Json(app.engine().retry(id).await?.into()))
}

/// Retry one item
///
/// Restarts one failed item of an `each` (`reviews[3]`, percent-encoded), while the others run or after all of it has
/// failed. Items that are done are not repeated.
#[utoipa::path(post, path = "/v1/instances/{id}/items/{item}/retry", tag = "instances",
    params(("id" = String, Path), ("item" = String, Path, description = "Name of the item: `reviews[3]`.")),
    responses((status = 200, body = ReceiptBody)))]
pub(super) async fn retry_item(
    State(app): State<App>,
    Path((id, item)): Path<(String, String)>,
) -> ActionResult {
    Ok(axum::Json(app.engine().retry_item(id, item).await?.into()))
}

/// Pause an instance
///
/// With its descendants. It moves only when it is resumed: calls that are safe to repeat are stopped, timers stand still,
/// events are stored. Pausing a paused instance changes nothing (`handled` is false).
#[utoipa::path(post, path = "/v1/instances/{id}/pause", tag = "instances", params(("id" = String, Path)),
    responses((status = 200, body = ReceiptBody)))]
pub(super) async fn pause(
    State(app): State<App>,
    caller: RequestCaller,
    Path(id): Path<String>,
) -> ActionResult {
    Ok(axum::Json(app.engine().pause(id, person(&caller)).await?.into()))
}

/// Resume an instance
///
/// With its descendants. Resuming an instance that is not paused changes nothing (`handled` is false).
#[utoipa::path(post, path = "/v1/instances/{id}/resume", tag = "instances", params(("id" = String, Path)),
    responses((status = 200, body = ReceiptBody)))]
pub(super) async fn resume(
    State(app): State<App>,
    caller: RequestCaller,
    Path(id): Path<String>,
) -> ActionResult {
    Ok(axum::Json(app.engine().resume(id, person(&caller)).await?.into()))
}

/// The name that the credential proves, for the journal and the audit.
pub(super) fn person(caller: &RequestCaller) -> rawko_core::Value {
    caller.author(None).0.map(rawko_core::Value::from).unwrap_or_default()
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkBody {
    /// Step to continue from. Default: the last one.
    at: Option<u64>,
    /// Context keys, with expressions for their new values.
    #[serde(default)]
    set: std::collections::BTreeMap<String, String>,
    /// Id of the new instance (generated if omitted).
    #[schema(min_length = 1, max_length = 200)]
    id: Option<String>,
}

/// Fork an instance
///
/// Creates an instance that continues from a past step of this one. If this one changed files after that step, the new
/// one works in a worktree with the files as they were.
#[utoipa::path(post, path = "/v1/instances/{id}/fork", tag = "instances", params(("id" = String, Path)),
    request_body = ForkBody,
    responses((status = 201, body = ReceiptBody, headers(("Location" = String, description = "Path of the instance.")))))]
pub(super) async fn fork(
    State(app): State<App>,
    Path(id): Path<String>,
    Json(ForkBody { at, set, id: new }): Json<ForkBody>,
) -> Result<Response, ErrorResponse> {
    check_id(new.as_deref())?;
    let fork = Fork { at, set: set.into_iter().collect(), id: new };
    app.project().fork(std::sync::Arc::clone(app.engine()), id, fork).await.map(created)
}
