//! `Receipt`: the result of a request to an instance, once it is on disk.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rawko_core::Status;
use rawko_host::Receipt;
use rawko_view::vocabulary::StatusWord;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::problem::{ErrorResponse, ProblemCode};

const ID_CHARS_MAX: usize = 200;

/// Result of a request to an instance.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Receipt)]
pub(crate) struct ReceiptBody {
    instance: String,
    /// Resulting step.
    step: u64,
    /// True if a transition handled the event.
    handled: bool,
    /// True if it is stored for later: the instance is paused, or the task is in the queue.
    queued: bool,
    #[schema(value_type = StatusWord)]
    status: Status,
}

impl From<Receipt> for ReceiptBody {
    fn from(Receipt { instance, step, handled, queued, status }: Receipt) -> ReceiptBody {
        ReceiptBody { instance: instance.to_string(), step, handled, queued, status }
    }
}

/// Responds with the URL of a new instance.
pub(super) fn created(receipt: Receipt) -> Response {
    located(StatusCode::CREATED, receipt)
}

/// Responds with the URL of an instance that starts later.
pub(super) fn accepted(receipt: Receipt) -> Response {
    located(StatusCode::ACCEPTED, receipt)
}

fn located(status: StatusCode, receipt: Receipt) -> Response {
    let place = format!("/v1/instances/{}", encoded(&receipt.instance));
    let mut response = (status, axum::Json(ReceiptBody::from(receipt))).into_response();
    if let Ok(place) = HeaderValue::from_str(&place) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response
}

fn encoded(id: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    id.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Validates a given id: it must be readable, typeable and usable in a URL.
pub(super) fn check_id(id: Option<&str>) -> Result<(), ErrorResponse> {
    let Some(id) = id else { return Ok(()) };
    let fits = |c: char| c.is_alphanumeric() || "-_.:@".contains(c);
    let is_dots = id.chars().all(|c| c == '.');
    if !id.is_empty() && id.chars().count() <= ID_CHARS_MAX && id.chars().all(fits) && !is_dots {
        return Ok(());
    }
    let detail = format!("an id must have 1 to {ID_CHARS_MAX} letters, digits, `-`, `_`, `.`, `:` and `@`");
    Err(ErrorResponse::new(ProblemCode::InvalidName, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_where_they_are() {
        let good = [("order-17", "order-17"), ("a.b:c", "a.b%3Ac"), ("größe", "gr%C3%B6%C3%9Fe")];
        for (id, place) in good {
            assert!(check_id(Some(id)).is_ok(), "{id}");
            assert_eq!(encoded(id), place);
        }
        for wrong in ["", ".", "..", "a b", "a/b", "a?b", "a\nb", &"x".repeat(201)] {
            let problem = check_id(Some(wrong)).unwrap_err();
            assert_eq!(problem.code(), ProblemCode::InvalidName, "{wrong}");
        }
    }
}
