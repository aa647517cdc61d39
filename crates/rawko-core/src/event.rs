//! `Event`: a delivery to an instance from outside. The kinds are a closed set; an author's event is one variant, with
//! a name and data.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::value::Value;

/// One delivery to an instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// An event by name: from an author, a person, another instance or a service.
    Named(NamedEvent),
    /// A pending timer of the snapshot is due. A step with a timer that is no longer pending changes nothing.
    TimerFired { timer: u64 },
    /// A running invocation returned. A step with an invocation that is no longer running changes nothing.
    InvokeDone { invocation: u64, data: Value },
    /// A running invocation failed.
    InvokeFailed { invocation: u64, error: Value },
    /// A person or a supervisor retries the failed invocation of an instance in status `error`.
    RetryRequested,
    /// A person or a supervisor retries one failed item of an `each`, by its name (`reviews[3]`).
    ItemRetryRequested { item: Arc<str> },
    /// A person, a parent or a supervisor ends the instance: exit actions run, timers and invocations stop.
    CancelRequested { reason: Value },
    /// A person pauses the instance. The chart does not see it; the step is an entry of the journal.
    PauseRequested { by: Value },
    /// A person resumes it after this long: pending timers are due that much later.
    ResumeRequested { by: Value, paused_ms: i64 },
}

/// An event as expressions see it: `event.type`, `event.data`, `event.origin`, `event.sendid`, `event.invokeid`, and in
/// item handlers of an `each` also `event.item` and `event.index`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedEvent {
    #[serde(rename = "type")]
    pub name: Arc<str>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
    /// The sender, in a form that a `send` can target; null for the outside world.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub origin: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_id: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invoke_id: Option<Arc<str>>,
    /// `event.item` and `event.index`: the item of an `each` that ended. Never part of a delivery.
    #[serde(skip)]
    pub item: Option<Box<EventItem>>,
}

/// The item of an `each` that an event is about.
#[derive(Clone, Debug, PartialEq)]
pub struct EventItem {
    pub index: u32,
    pub value: Value,
}

impl NamedEvent {
    pub fn new(name: impl Into<Arc<str>>, data: Value) -> Self {
        Self { name: name.into(), data, origin: Value::Null, send_id: None, invoke_id: None, item: None }
    }
}

impl Event {
    pub fn named(name: impl Into<Arc<str>>, data: Value) -> Self {
        Event::Named(NamedEvent::new(name, data))
    }
}
