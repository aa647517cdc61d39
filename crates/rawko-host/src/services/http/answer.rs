//! Interprets an HTTP response: a result, or an error that states whether a retry can help and whether the request may
//! have taken effect.

use rawko_core::Value;
use rawko_http::retry_after_ms;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Response, StatusCode};

use super::{RESPONSE_BYTES_MAX, fault};
use crate::services::bodies::{KEPT_BYTES, head, shown_size};
use crate::services::secrets::Secrets;
use crate::services::{AttemptOutcome, Category, ServiceError};

/// Error bodies up to this size are kept whole as JSON; of longer ones only the beginning is kept, as text.
const FAILURE_BYTES_MAX: usize = 64 * 1024;

/// Takes the secrets because they must be hidden before a body is cut, so that no half of one survives at the cut.
pub(super) async fn read(response: Response, secrets: &Secrets) -> Result<Value, ServiceError> {
    let (status, headers) = (response.status(), response.headers().clone());
    let body = body(response).await?;
    if status.is_success() { value(&headers, &body) } else { Err(failure(status, &headers, &body, secrets)) }
}

async fn body(mut response: Response) -> Result<Vec<u8>, ServiceError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| fault::cut_off())? {
        if body.len() + chunk.len() > RESPONSE_BYTES_MAX {
            let message = format!("the response is larger than {}", shown_size(RESPONSE_BYTES_MAX as u64));
            return Err(ServiceError::new(Category::InvalidAnswer, message));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn value(headers: &HeaderMap, body: &[u8]) -> Result<Value, ServiceError> {
    if body.trim_ascii().is_empty() {
        return Ok(Value::Null);
    }
    let invalid = |message: String| ServiceError::new(Category::InvalidAnswer, message);
    if is_json(headers) {
        return serde_json::from_slice(body)
            .map_err(|error| invalid(format!("the response is not valid JSON: {error}")));
    }
    let text = std::str::from_utf8(body);
    text.map(Value::str).map_err(|_| invalid("the response is neither JSON nor text".into()))
}

/// Matches `application/json` and every type that ends in `+json`.
fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || essence.ends_with("+json")
}

fn failure(status: StatusCode, headers: &HeaderMap, body: &[u8], secrets: &Secrets) -> ServiceError {
    let mut details = vec![("status", Value::Int(status.as_u16().into()))];
    if let Some(ms) = retry_after_ms(headers, jiff::Timestamp::now().as_millisecond()) {
        details.push(("retry_after_ms", Value::Int(i64::try_from(ms).unwrap_or(i64::MAX))));
    }
    details.push(("body", failure_body(headers, body, secrets)));
    let mut error = ServiceError::new(Category::Failed, format!("the service returned {status}"));
    error.retryable = if may_pass(status) { None } else { Some(false) };
    error.with_outcome(outcome(status)).with_details(Value::map(details))
}

/// Returns whether a failed request may have taken effect. Only a 4xx that states why the service itself refused is
/// definite. A 5xx, 408, 425 or 429 may come from a gateway after the service accepted the request. A 409 is also the
/// answer to a key whose first request is still running. An unassigned 4xx, such as the 499 and 460 of load balancers,
/// proves nothing.
fn outcome(status: StatusCode) -> AttemptOutcome {
    match status.as_u16() {
        400..=407 | 410..=418 | 421..=424 | 426 | 428 | 431 | 451 => AttemptOutcome::Definite,
        _ => AttemptOutcome::Unknown,
    }
}

/// Returns true if the same request may succeed later: timeout, too early, rate limit, or a server error.
fn may_pass(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 425 | 429) || status.is_server_error()
}

fn failure_body(headers: &HeaderMap, body: &[u8], secrets: &Secrets) -> Value {
    let json =
        (is_json(headers) && body.len() <= FAILURE_BYTES_MAX).then(|| serde_json::from_slice(body).ok());
    json.flatten().unwrap_or_else(|| {
        let text = secrets.hide(&String::from_utf8_lossy(body));
        if text.is_empty() { Value::Null } else { Value::str(head(&text, KEPT_BYTES)) }
    })
}
