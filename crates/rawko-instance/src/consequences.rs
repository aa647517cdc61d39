//! `Consequence`: what an effect means, without a driver and a store, as pure functions: the kind of work, requests that
//! expire, events that a chart sends, the order of due items. The machine plans consequences and `rawko-verify` explores
//! them, so a proof is about what runs, and effects are sorted here only.

use std::sync::Arc;

use rawko_core::{
    Chart, Effect, EventRefusal, Invoke, NamedEvent, Send, SendTarget, ServiceClass, ServiceName, Value,
    duration,
};

use crate::failure::{Category, ServiceError};
use crate::records::EffectKind;

/// What an effect means.
#[derive(Clone, Debug, PartialEq)]
pub enum Consequence {
    /// Nothing more: timers are in the snapshot, logs and faults in the journal.
    Nothing,
    /// Work whose result the chart waits for.
    Work {
        /// The call.
        invoke: Invoke,
        /// Its kind by its `src`. An agent may turn out to be a chart or a person.
        kind: EffectKind,
    },
    /// Work that is no longer awaited.
    Stop {
        /// Invocation id of the work.
        invocation: u64,
        /// Invoke id of the chart.
        id: Arc<str>,
    },
    /// An event to the instance itself, after this step and the results of refused calls.
    OwnEvent(NamedEvent),
    /// An event to another instance or an endpoint; it may be undeliverable.
    Message(Send),
    /// An event to the parent and external listeners.
    Emission {
        /// Event name.
        event: Arc<str>,
        /// Event data.
        data: Value,
    },
    /// A call without an awaited result.
    Call {
        /// Service name of the handler.
        handler: Arc<str>,
        /// Evaluated input of the handler.
        params: Value,
    },
    /// The instance ended in a final state.
    Completion {
        /// Evaluated `output` of the chart.
        output: Value,
    },
    /// The instance was cancelled.
    Cancellation {
        /// Reason of the cancellation.
        reason: Value,
    },
    /// Failed work that nothing handles.
    Stall {
        /// Id of the failed invoke, or `after.<path>`.
        id: Arc<str>,
        /// Error of the last attempt.
        error: Value,
    },
}

impl Consequence {
    /// Returns what an effect means.
    pub fn of(effect: Effect) -> Self {
        match effect {
            Effect::SetTimer { .. } | Effect::CancelTimer { .. } | Effect::Log { .. } | Effect::Fault(_) => {
                Self::Nothing
            }
            Effect::Invoke(invoke) => Self::Work { kind: work_kind(&invoke.src), invoke },
            Effect::StopInvoke { invocation, id } => Self::Stop { invocation, id },
            Effect::Send(send) if send.target == SendTarget::Itself => {
                Self::OwnEvent(sent_event(&send, ITSELF, None))
            }
            Effect::Send(send) => Self::Message(send),
            Effect::Emit { event, data } => Self::Emission { event, data },
            Effect::Call { handler, params } => Self::Call { handler, params },
            Effect::Complete { output } => Self::Completion { output },
            Effect::Cancelled { reason } => Self::Cancellation { reason },
            Effect::Stall { id, error } => Self::Stall { id, error },
        }
    }
}

/// Returns the kind of work that a `src` refers to.
pub(crate) fn work_kind(src: &str) -> EffectKind {
    match ServiceName::of(src).class {
        ServiceClass::Human => EffectKind::Person,
        ServiceClass::Chart => EffectKind::Child,
        ServiceClass::Agent => EffectKind::Agent,
        _ => EffectKind::Service,
    }
}

/// Returns why an event that the chart sent to itself does not enter: declarations apply to its data only.
pub fn own_event_refusal(chart: &Chart, event: &NamedEvent) -> Option<EventRefusal> {
    chart.refuse_data(event)
}

/// Returns when the request of a person expires that is made now; the error is the result of a request that cannot be
/// made.
pub fn request_due_ms(input: &Value, now_ms: i64) -> Result<Option<i64>, ServiceError> {
    Ok(request_expiry_ms(input)?.map(|ms| now_ms.saturating_add(ms)))
}

/// Returns the time after which a request expires, from its input (`expires`: milliseconds or a duration in the chart
/// format).
fn request_expiry_ms(input: &Value) -> Result<Option<i64>, ServiceError> {
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
pub(crate) fn sent_event(send: &Send, origin: &str, invoke_id: Option<Arc<str>>) -> NamedEvent {
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
const ITSELF: &str = "self";

/// Returns the due item that comes first. At the same time a timer comes before requests, and requests in their order.
pub fn first_due<T>(
    timer: Option<T>,
    expiries: impl IntoIterator<Item = T>,
    at_ms: impl Fn(&T) -> i64,
) -> Option<T> {
    timer.into_iter().chain(expiries).min_by_key(at_ms)
}
