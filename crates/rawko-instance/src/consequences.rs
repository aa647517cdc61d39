//! Consequences of effects that need neither a driver nor a store, as pure functions: requests that expire, events that a
//! chart sends, the order of due items. The machine and `rawko-verify` share them, so a proof is about what runs.

use std::sync::Arc;

use rawko_core::{NamedEvent, Send, Value, duration};

use crate::failure::{Category, ServiceError};

/// Returns the time after which the request of a person expires, from its input (`expires`: milliseconds or a duration in
/// the chart format); the error is the result of a request that cannot be made.
pub fn request_expiry_ms(input: &Value) -> Result<Option<i64>, ServiceError> {
    let refused = |why: String| ServiceError::new(Category::Unknown, format!("`expires`: {why}"));
    let expires = input.get("expires");
    match expires {
        Value::Null => Ok(None),
        Value::Int(ms) if *ms >= 0 => Ok(Some(*ms)),
        Value::Str(text) => {
            let ms = duration::parse_ms(text).map_err(|error| refused(error.to_string()))?;
            Ok(Some(i64::try_from(ms).unwrap_or(i64::MAX)))
        }
        Value::Int(_) | Value::Bool(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => {
            Err(refused(format!("{expires} is neither milliseconds nor a duration")))
        }
    }
}

/// Returns the error of a request that was not answered in time.
pub fn request_expired() -> ServiceError {
    ServiceError::new(Category::Expired, "no answer arrived in time")
}

/// Returns the event that the receiver of a `send` gets. `origin` is the sender, as a `send` of the receiver can target it.
pub fn sent_event(send: &Send, origin: &str, invoke_id: Option<Arc<str>>) -> NamedEvent {
    NamedEvent {
        name: Arc::clone(&send.event),
        data: send.data.clone(),
        origin: Value::str(origin),
        send_id: send.send_id.clone(),
        invoke_id,
        item: None,
    }
}

/// The origin of an event that a chart sends to itself.
pub const ITSELF: &str = "self";

/// Returns the due item that comes first. At the same time a timer comes before requests, and requests in their order.
pub fn first_due<T>(
    timer: Option<T>,
    expiries: impl IntoIterator<Item = T>,
    at_ms: impl Fn(&T) -> i64,
) -> Option<T> {
    timer.into_iter().chain(expiries).min_by_key(at_ms)
}
