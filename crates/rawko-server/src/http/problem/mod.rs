//! `ErrorResponse`: an error response in `application/problem+json`. The code is for programs and stable; the detail is a
//! sentence for people, and never contains a secret.

mod codes;
mod from;

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value as Json};
use utoipa::ToSchema;

use super::faults::ResponseCause;

pub use codes::ProblemCode;

const PREFIX: &str = "rawko::api::";

/// An error response.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorResponse {
    code: ProblemCode,
    detail: Box<str>,
    /// Additional members for programs.
    more: Map<String, Json>,
    retry_after_s: Option<u64>,
    /// Internal cause: for the server's log, never for the response.
    cause: Option<Box<ResponseCause>>,
}

/// Wire format of a problem.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemBody {
    /// Always `about:blank`: `code` is more specific.
    #[serde(rename = "type")]
    #[schema(rename = "type", example = "about:blank")]
    kind: &'static str,
    /// Short meaning of the code.
    title: &'static str,
    status: u16,
    /// Description of the error, for people.
    detail: String,
    /// Stable code of the error, for programs.
    #[schema(example = "rawko::api::no_instance")]
    code: String,
    #[serde(flatten)]
    #[schema(ignore)]
    more: Map<String, Json>,
}

impl ErrorResponse {
    /// Creates a problem; the detail must not contain a secret.
    pub fn new(code: ProblemCode, detail: impl Into<String>) -> ErrorResponse {
        ErrorResponse {
            code,
            detail: detail.into().into(),
            more: Map::new(),
            retry_after_s: None,
            cause: None,
        }
    }

    /// Creates an internal error. The cause is written to the log and not sent to the client.
    pub fn internal(cause: impl Into<String>) -> ErrorResponse {
        let detail = "internal error; no partial change was made; the server log has details";
        ErrorResponse::new(ProblemCode::Internal, detail).because(cause)
    }

    /// Sets the cause, which is only written to the server's log.
    #[must_use]
    pub fn because(mut self, cause: impl Into<String>) -> ErrorResponse {
        self.cause = Some(Box::new(ResponseCause(cause.into())));
        self
    }

    /// Adds a field beside the standard ones.
    #[must_use]
    pub fn with(mut self, key: &str, value: Json) -> ErrorResponse {
        self.more.insert(key.to_owned(), value);
        self
    }

    /// Sets the `Retry-After` header, in seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> ErrorResponse {
        self.retry_after_s = Some(seconds);
        self
    }

    /// Returns the code for programs.
    pub fn code(&self) -> ProblemCode {
        self.code
    }

    /// Returns the sentence for people.
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        let status = self.code.status();
        let body = ProblemBody {
            kind: "about:blank",
            title: self.code.title(),
            status: status.as_u16(),
            detail: self.detail.into(),
            code: format!("{PREFIX}{}", self.code.as_str()),
            more: self.more,
        };
        let text = serde_json::to_vec(&body).unwrap_or_default();
        let mut response = (status, text).into_response();
        if let Some(cause) = self.cause {
            response.extensions_mut().insert(*cause);
        }
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.code == ProblemCode::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
