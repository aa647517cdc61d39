//! Instances that a request with an `Idempotency-Key` starts: their generated id is derived from the request, so that a
//! repetition finds the instance of the first one, also after a kill or a restart.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use rawko_core::Status;
use rawko_host::{HostError, Receipt};

use crate::http::access::caller_of;
use crate::http::app::App;
use crate::http::limits::Whole;
use crate::http::problem::{ErrorResponse, ProblemCode};

/// The letters of a generated id: no vowels and no look-alikes, as in the ids of the host.
const LETTERS: &[u8] = b"23456789bcdfghjkmnpqrstvwxz";
/// 57 bits: two keys do not meet.
const LENGTH: usize = 12;

/// Letters derived from the caller, the path, the key and the body; `None` without a key.
pub(super) struct KeyedRequest(Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for KeyedRequest {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        let key = parts.headers.get("idempotency-key").and_then(|key| key.to_str().ok());
        let caller = caller_of(&parts.extensions);
        let (Some(key), Some(caller)) = (key, caller) else { return Ok(KeyedRequest(None)) };
        let body = parts.extensions.get::<Whole>().cloned().unwrap_or_default();
        let mut hash = blake3::Hasher::new();
        for part in [caller.name.as_bytes(), parts.uri.path().as_bytes(), key.as_bytes(), body.0.as_ref()] {
            hash.update(blake3::hash(part).as_bytes());
        }
        let letters = hash.finalize().as_bytes()[..LENGTH]
            .iter()
            .map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()]))
            .collect();
        Ok(KeyedRequest(Some(letters)))
    }
}

impl KeyedRequest {
    /// Returns the id of the instance of a chart that the request starts; `None` to have one generated.
    pub(super) fn instance(&self, chart: &str) -> Option<String> {
        self.0.as_ref().map(|letters| format!("{chart}-{letters}"))
    }
}

/// Returns the result of a start, or the instance that an earlier start under the same key created.
pub(super) async fn once(
    app: &App,
    derived: Option<String>,
    started: Result<Receipt, ErrorResponse>,
) -> Result<Receipt, ErrorResponse> {
    match (started, derived) {
        (Err(problem), Some(id)) if problem.code() == ProblemCode::Exists => {
            app.read(move |app| existing(app, &id)).await
        }
        (started, _) => started,
    }
}

fn existing(app: &App, id: &str) -> Result<Receipt, HostError> {
    let row = app.reader().store().find(id)?;
    // A task that waits in the queue has no instance yet.
    let (step, queued, status) =
        row.map_or((0, true, Status::Active), |row| (row.step, false, row.head.status));
    Ok(Receipt { instance: id.into(), step, handled: true, queued, status })
}
