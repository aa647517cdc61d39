//! Custom extractors: an invalid path, query or body is a [`ErrorResponse`], never axum's plain text.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use super::problem::{ErrorResponse, ProblemCode};

/// JSON body.
#[derive(Clone, Debug)]
pub(crate) struct Json<T>(pub(crate) T);

/// Query string. A key may be repeated for a list.
#[derive(Clone, Debug)]
pub(crate) struct QueryString<T>(pub(crate) T);

/// Path parameters.
#[derive(Clone, Debug)]
pub(crate) struct Path<T>(pub(crate) T);

/// The request's `Idempotency-Key`.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdempotencyKey(pub(crate) Option<String>);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request, state: &S) -> Result<Self, ErrorResponse> {
        if !is_json(request.headers()) {
            let detail = "the body must have `Content-Type: application/json`";
            return Err(ErrorResponse::new(ProblemCode::UnsupportedMediaType, detail));
        }
        let unread = |_| ErrorResponse::new(ProblemCode::InvalidRequest, "cannot read the body");
        let bytes = Bytes::from_request(request, state).await.map_err(unread)?;
        parse(&bytes).map(Json)
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ErrorResponse> {
    serde_json::from_slice(bytes).map_err(|error| {
        let code = match error.classify() {
            Category::Data => ProblemCode::InvalidBody,
            Category::Syntax | Category::Eof | Category::Io => ProblemCode::InvalidJson,
        };
        ErrorResponse::new(code, format!("invalid body: {error}"))
    })
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryString<T> {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        let wrong =
            |error| ErrorResponse::new(ProblemCode::InvalidRequest, format!("invalid query: {error}"));
        serde_html_form::from_str(parts.uri.query().unwrap_or_default()).map(QueryString).map_err(wrong)
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ErrorResponse> {
        let wrong = |_| ErrorResponse::new(ProblemCode::InvalidRequest, "invalid path");
        let found = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        found.map(|axum::extract::Path(found)| Path(found)).map_err(wrong)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        let key = parts.headers.get("idempotency-key").and_then(|value| value.to_str().ok());
        Ok(IdempotencyKey(key.map(str::to_owned)))
    }
}
