//! `Effect`: a step's requests to the host, as data. A closed set; every host has one arm for each.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::value::Value;

/// A request to the host. Its id is `instance/step/index`, the index being its position in the step's list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Deliver [`Event::TimerFired`](crate::Event::TimerFired) at `due_ms`. The snapshot holds it as pending too.
    SetTimer {
        /// Timer id, unique within the instance.
        timer: u64,
        /// Due time in milliseconds since the Unix epoch.
        due_ms: i64,
    },
    /// Drop a timer that is no longer pending; a late delivery would change nothing.
    CancelTimer {
        /// Timer id from [`Effect::SetTimer`].
        timer: u64,
    },
    /// Start a service, a child chart or an agent; respond with `InvokeDone` or `InvokeFailed` for `invocation`.
    Invoke(Invoke),
    /// The state that invoked it was left, it timed out, or the instance ended.
    StopInvoke {
        /// Invocation id from [`Effect::Invoke`].
        invocation: u64,
        /// Invoke id of the chart.
        id: Arc<str>,
    },
    /// Deliver an event to another target, or to this instance's own external queue.
    Send(Send),
    /// Send an event to the parent and external listeners.
    Emit {
        /// Event name.
        #[serde(rename = "type")]
        event: Arc<str>,
        /// Event data.
        data: Value,
    },
    /// Call a handler without waiting for its result.
    Call {
        /// Service name of the handler.
        handler: Arc<str>,
        /// Evaluated input of the handler.
        params: Value,
    },
    /// Write a message to the log of the instance.
    Log {
        /// Evaluated message.
        message: Arc<str>,
    },
    /// An expression of the chart failed to evaluate. Drivers only record it.
    Fault(Fault),
    /// The instance reached a top-level final state.
    Complete {
        /// Evaluated `output` of the chart.
        output: Value,
    },
    /// The instance was cancelled.
    Cancelled {
        /// Reason passed with the cancellation.
        reason: Value,
    },
    /// An invoke failed, or an `after` could not be set, and nothing handles it: the instance is in status `error`. The id is
    /// that of the invoke, or `after.<path>`.
    Stall {
        /// Id of the failed invoke, or `after.<path>`.
        id: Arc<str>,
        /// Error of the last attempt.
        error: Value,
    },
}

impl Effect {
    /// Passes the values of the effect that come from expressions of the chart.
    pub fn for_each_value(&mut self, mut change: impl FnMut(&mut Value)) {
        match self {
            Effect::Invoke(invoke) => change(&mut invoke.input),
            Effect::Send(send) => change(&mut send.data),
            Effect::Emit { data, .. } => change(data),
            Effect::Call { params, .. } => change(params),
            Effect::Complete { output } => change(output),
            Effect::Cancelled { reason } => change(reason),
            Effect::Stall { error, .. } => change(error),
            Effect::SetTimer { .. }
            | Effect::CancelTimer { .. }
            | Effect::StopInvoke { .. }
            | Effect::Log { .. }
            | Effect::Fault(_) => {}
        }
    }
}

/// A call to start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Invoke {
    /// Invocation id, unique within the instance; the result carries it.
    pub invocation: u64,
    /// Invoke id of the chart.
    pub id: Arc<str>,
    /// Evaluated `src`: `statechart:…`, `agent:…` or a service name.
    pub src: Arc<str>,
    /// Evaluated input of the call.
    pub input: Value,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// The permissions of the invoking state, narrowed by its ancestors; null if none are declared.
    pub policy: Value,
}

/// An event to deliver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Send {
    /// Receiver of the event.
    pub target: SendTarget,
    /// Event name.
    #[serde(rename = "type")]
    pub event: Arc<str>,
    /// Event data.
    pub data: Value,
    /// Id given by the author, by which a delayed send is cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_id: Option<Arc<str>>,
}

/// The target of a send. A target in none of the known forms is looked up by the host among instances and endpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "to", content = "name", rename_all = "snake_case")]
pub enum SendTarget {
    /// The sending instance's own external queue (`self`).
    Itself,
    /// The instance that invoked this one.
    Parent,
    /// A running invocation of this instance, by its invoke id.
    Invocation(Arc<str>),
    /// A channel, by its name.
    Channel(Arc<str>),
    /// An agent, by its id.
    Agent(Arc<str>),
    /// An instance id or a configured endpoint.
    Other(Arc<str>),
}
