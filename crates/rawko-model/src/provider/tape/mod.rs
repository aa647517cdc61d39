//! Recorded exchanges. A tape is a file of JSON lines, one for each exchange, in the order in which they ended:
//!
//! ```json
//! {"version": 1, "hash": "…", "request": {…}, "events": […], "result": {"completion": {…}}}
//! {"version": 1, "hash": "…", "request": {…}, "events": […], "result": {"error": {"code": "rate_limited", …}}}
//! ```
//!
//! `request` is the whole request as rawko has it, not as it went over the wire: a tape can be replayed whatever provider
//! it came from. There is no key in it: keys are no part of a request, and where one stands in a message it is hidden.
//! `hash` is over what the model sees, so who asked and when does not matter.

mod record;
mod replay;

use serde::{Deserialize, Serialize};

pub use record::{Record, Recorder};
pub use replay::Replay;

use super::{Completion, CompletionRequest, ProviderError, StreamEvent};

const VERSION: u32 = 1;

/// One line of a tape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Exchange {
    version: u32,
    hash: String,
    request: CompletionRequest,
    events: Vec<StreamEvent>,
    result: Ended,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ended {
    Completion(Completion),
    Error(ProviderError),
}

/// The same for requests that a model cannot tell apart, whatever the order of keys in them.
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

/// Bounded: what was read from JSON is at most as deep as its reader allows.
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
