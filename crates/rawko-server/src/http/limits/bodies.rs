//! Reads request bodies completely before the handler runs, within a size and a time limit, so that a slow client
//! cannot occupy a handler.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header;
use http_body_util::{BodyExt, LengthLimitError, Limited};

use crate::http::app::App;
use crate::http::problem::{ErrorResponse, ProblemCode};

const BODY_BYTES_MAX: usize = 1024 * 1024;
/// With images.
const TASK_BYTES_MAX: usize = 16 * 1024 * 1024;
const CHART_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The request body, completely read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Whole(pub(crate) Bytes);

/// Returns the request with its whole body, also in its extensions.
pub(crate) async fn whole_body(app: &App, request: Request) -> Result<Request, ErrorResponse> {
    let (mut parts, body) = request.into_parts();
    let most = match parts.uri.path() {
        path if path.starts_with("/v1/charts") => CHART_BYTES_MAX,
        "/v1/tasks" => TASK_BYTES_MAX,
        _ => BODY_BYTES_MAX,
    };
    let declared =
        parts.headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if declared.is_some_and(|length: u64| length > u64::try_from(most).unwrap_or(u64::MAX)) {
        return Err(too_large(most));
    }
    let bytes = read(body, most, app.patience().body).await?;
    parts.extensions.insert(Whole(bytes.clone()));
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

async fn read(body: Body, most: usize, within: Duration) -> Result<Bytes, ErrorResponse> {
    let slow = |_| ErrorResponse::new(ProblemCode::SlowBody, "timeout while reading the body");
    let collected = tokio::time::timeout(within, Limited::new(body, most).collect()).await.map_err(slow)?;
    match collected {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large(most)),
        Err(_) => Err(ErrorResponse::new(ProblemCode::InvalidRequest, "cannot read the body")),
    }
}

fn too_large(most: usize) -> ErrorResponse {
    ErrorResponse::new(ProblemCode::TooLarge, format!("the body is larger than {most} bytes"))
}
