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
    TimerFired {
        /// Timer id from [`Effect::SetTimer`](crate::Effect::SetTimer).
        timer: u64,
    },
    /// A running invocation returned. A step with an invocation that is no longer running changes nothing.
    InvokeDone {
        /// Invocation id from [`Effect::Invoke`](crate::Effect::Invoke).
        invocation: u64,
        /// Output of the service.
        data: Value,
    },
    /// A running invocation failed.
    InvokeFailed {
        /// Invocation id from [`Effect::Invoke`](crate::Effect::Invoke).
        invocation: u64,
        /// Failure with `category`, `code` and `message`.
        error: Value,
    },
    /// A person or a supervisor retries the failed invocation of an instance in status `error`.
    RetryRequested,
    /// A person or a supervisor retries one failed item of an `each`, by its name (`reviews[3]`).
    ItemRetryRequested {
        /// Name of the item: the invoke id and its index.
        item: Arc<str>,
    },
    /// A person, a parent or a supervisor ends the instance: exit actions run, timers and invocations stop.
    CancelRequested {
        /// Free data for the journal, often a text.
        reason: Value,
    },
    /// A person pauses the instance. The chart does not see it; the step is an entry of the journal.
    PauseRequested {
        /// The person or program that asked, for the journal.
        by: Value,
    },
    /// A person resumes it after this long: pending timers are due that much later.
    ResumeRequested {
        /// The person or program that asked, for the journal.
        by: Value,
        /// Duration of the pause in milliseconds.
        paused_ms: i64,
    },
}

/// An event as expressions see it: `event.type`, `event.data`, `event.origin`, `event.sendid`, `event.invokeid`, and in
/// item handlers of an `each` also `event.item` and `event.index`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedEvent {
    /// Event name, `event.type` in expressions.
    #[serde(rename = "type")]
    pub name: Arc<str>,
    /// Payload, `event.data` in expressions.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
    /// The sender, in a form that a `send` can target; null for the outside world.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub origin: Value,
    /// Id of the `send` action that produced the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_id: Option<Arc<str>>,
    /// Invoke id, if an invocation produced the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invoke_id: Option<Arc<str>>,
    /// `event.item` and `event.index`: the item of an `each` that ended. Never part of a delivery.
    #[serde(skip)]
    pub item: Option<Box<EventItem>>,
}

/// The item of an `each` that an event is about.
#[derive(Clone, Debug, PartialEq)]
pub struct EventItem {
    /// Position in the list, from 0.
    pub index: u32,
    /// The item itself.
    pub value: Value,
}

impl NamedEvent {
    /// Creates an event without origin, ids or item.
    pub fn new(name: impl Into<Arc<str>>, data: Value) -> Self {
        Self { name: name.into(), data, origin: Value::Null, send_id: None, invoke_id: None, item: None }
    }
}

impl Event {
    /// Passes the data of the event.
    pub fn for_each_value(&mut self, mut change: impl FnMut(&mut Value)) {
        match self {
            Event::Named(event) => change(&mut event.data),
            Event::InvokeDone { data, .. } => change(data),
            Event::InvokeFailed { error, .. } => change(error),
            Event::CancelRequested { reason } => change(reason),
            Event::TimerFired { .. }
            | Event::RetryRequested
            | Event::ItemRetryRequested { .. }
            | Event::PauseRequested { .. }
            | Event::ResumeRequested { .. } => {}
        }
    }

    /// Creates an author's event from outside.
    pub fn named(name: impl Into<Arc<str>>, data: Value) -> Self {
        Event::Named(NamedEvent::new(name, data))
    }
}
