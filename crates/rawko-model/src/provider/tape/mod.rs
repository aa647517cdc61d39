//! Recorded exchanges. A tape is a JSON Lines file with one line per exchange, in order of completion:
//!
//! ```json
//! {"version": 1, "hash": "…", "request": {…}, "events": […], "result": {"completion": {…}}}
//! {"version": 1, "hash": "…", "request": {…}, "events": […], "result": {"error": {"code": "rate_limited", …}}}
//! ```
//!
//! `request` is rawko's own form of the request, not the wire format: a tape can be replayed for any provider. It
//! contains no keys: keys are not part of a request, and a key inside a message is redacted. `hash` covers the model's
//! input only, so the agent and the time do not matter.

mod record;
mod replay;

use serde::{Deserialize, Serialize};

pub use record::{Recorder, RecordingProvider};
pub use replay::TapeProvider;

use super::{Completion, CompletionRequest, ProviderError, StreamEvent};

const VERSION: u32 = 1;

/// One line of a tape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TapeExchange {
    version: u32,
    hash: String,
    request: CompletionRequest,
    events: Vec<StreamEvent>,
    result: RecordedEnd,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordedEnd {
    Completion(Completion),
    Error(ProviderError),
}

/// Returns the same hash for requests that are equal to a model, independent of key order.
pub fn request_hash(request: &CompletionRequest) -> String {
    let seen = CompletionRequest {
        idempotency: String::new(),
        agent: String::new(),
        occasion: String::new(),
        attempt: 0,
        ..request.clone()
    };
    let json = serde_json::to_value(&seen).unwrap_or_default();
    blake3::hash(sorted(&json).to_string().as_bytes()).to_hex().to_string()
}

/// Recursion is bounded by the depth limit of the JSON reader.
fn sorted(json: &serde_json::Value) -> serde_json::Value {
    match json {
        serde_json::Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            serde_json::Value::Object(entries.into_iter().collect())
        }
        serde_json::Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}
