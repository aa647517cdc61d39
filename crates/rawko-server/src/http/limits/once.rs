//! Idempotency keys: a repeated request gets the first response. Kept in memory and bounded; operations that must be
//! deduplicated across a restart have their own keys in the store.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use tokio::sync::watch;

use super::bodies::Whole;
use crate::http::access::caller_of;
use crate::http::app::App;
use crate::http::faults::ResponseCause;
use crate::http::problem::{ErrorResponse, ProblemCode};

const ANSWERS_MAX: usize = 10_000;
const KEY_BYTES_MAX: usize = 255;
/// Larger responses are not kept; no operation with a key produces one.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Caller, method, URI and key.
type RequestKey = (Arc<str>, Method, String, String);

#[derive(Default)]
pub(crate) struct Answers {
    kept: Mutex<StoredAnswers>,
}

#[derive(Default)]
struct StoredAnswers {
    answers: HashMap<RequestKey, OnceEntry>,
    /// Oldest first.
    order: VecDeque<RequestKey>,
}

#[derive(Clone)]
struct OnceEntry {
    body: blake3::Hash,
    /// `None` while the first request is running.
    answer: watch::Receiver<Option<StoredResponse>>,
}

#[derive(Clone)]
struct StoredResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
    cause: Option<ResponseCause>,
}

pub(crate) async fn once(app: &App, request: Request, next: Next) -> Response {
    let key = request.headers().get("idempotency-key").cloned();
    let caller = key.as_ref().and_then(|_| caller_of(request.extensions()));
    let (Some(key), Some(caller)) = (key, caller) else { return next.run(request).await };
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    let key = match key.to_str() {
        Ok(key) if !key.is_empty() && key.len() <= KEY_BYTES_MAX => key.to_owned(),
        Ok(_) | Err(_) => {
            let detail = format!("`Idempotency-Key` must have 1 to {KEY_BYTES_MAX} visible characters");
            return ErrorResponse::new(ProblemCode::InvalidRequest, detail).into_response();
        }
    };
    let whole = request.extensions().get::<Whole>().cloned().unwrap_or_default();
    let uri = request.uri().to_string();
    let place = (caller.name, request.method().clone(), uri, key);
    match app.answers().join(&place, blake3::hash(&whole.0)) {
        JoinOutcome::Conflict => {
            let detail = "this key was used with another body; use a new key for each request";
            ErrorResponse::new(ProblemCode::IdempotencyConflict, detail).into_response()
        }
        JoinOutcome::Again(answer) => wait(app, &place, answer).await,
        JoinOutcome::First(tell, answer) => {
            // Runs in a separate task, so that the operation completes even if the client disconnects.
            let (its_app, its_place) = (app.clone(), place.clone());
            tokio::spawn(async move {
                let answered = keep(next.run(request).await).await;
                if answered.status.is_server_error() || answered.body.len() > ANSWER_BYTES_MAX {
                    its_app.answers().forget(&its_place);
                }
                tell.send_replace(Some(answered));
            });
            wait(app, &place, answer).await
        }
    }
}

enum JoinOutcome {
    First(watch::Sender<Option<StoredResponse>>, watch::Receiver<Option<StoredResponse>>),
    Again(watch::Receiver<Option<StoredResponse>>),
    Conflict,
}

impl Answers {
    fn lock(&self) -> MutexGuard<'_, StoredAnswers> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self, place: &RequestKey, body: blake3::Hash) -> JoinOutcome {
        let mut kept = self.lock();
        if let Some(entry) = kept.answers.get(place) {
            return if entry.body == body {
                JoinOutcome::Again(entry.answer.clone())
            } else {
                JoinOutcome::Conflict
            };
        }
        if kept.order.len() >= ANSWERS_MAX
            && let Some(oldest) = kept.order.pop_front()
        {
            kept.answers.remove(&oldest);
        }
        let (tell, answer) = watch::channel(None);
        kept.answers.insert(place.clone(), OnceEntry { body, answer: answer.clone() });
        kept.order.push_back(place.clone());
        JoinOutcome::First(tell, answer)
    }

    fn forget(&self, place: &RequestKey) {
        let mut kept = self.lock();
        kept.answers.remove(place);
        kept.order.retain(|known| known != place);
    }
}

async fn wait(
    app: &App,
    place: &RequestKey,
    mut answer: watch::Receiver<Option<StoredResponse>>,
) -> Response {
    let answered = answer.wait_for(Option::is_some).await.ok().and_then(|answer| answer.clone());
    let Some(StoredResponse { status, headers, body, cause }) = answered else {
        // The request panicked. A retry may succeed.
        app.answers().forget(place);
        return ErrorResponse::internal("panic in a request with an idempotency key").into_response();
    };
    let mut response = (status, body).into_response();
    *response.headers_mut() = headers;
    if let Some(cause) = cause {
        response.extensions_mut().insert(cause);
    }
    response
}

async fn keep(response: Response) -> StoredResponse {
    let (mut parts, body): (_, Body) = response.into_parts();
    let cause = parts.extensions.remove();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    StoredResponse { status: parts.status, headers: parts.headers, body, cause }
}
