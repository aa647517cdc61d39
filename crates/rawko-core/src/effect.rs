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
        timer: u64,
        due_ms: i64,
    },
    CancelTimer {
        timer: u64,
    },
    /// Start a service, a child chart or an agent; respond with `InvokeDone` or `InvokeFailed` for `invocation`.
    Invoke(Invoke),
    /// The state that invoked it was left, it timed out, or the instance ended.
    StopInvoke {
        invocation: u64,
        id: Arc<str>,
    },
    /// Deliver an event to another target, or to this instance's own external queue.
    Send(Send),
    /// Send an event to the parent and external listeners.
    Emit {
        #[serde(rename = "type")]
        event: Arc<str>,
        data: Value,
    },
    /// Call a handler without waiting for its result.
    Call {
        handler: Arc<str>,
        params: Value,
    },
    Log {
        message: Arc<str>,
    },
    /// An expression of the chart failed to evaluate. Drivers only record it.
    Fault(Fault),
    /// The instance reached a top-level final state.
    Complete {
        output: Value,
    },
    /// The instance was cancelled.
    Cancelled {
        reason: Value,
    },
    /// An invoke failed, or an `after` could not be set, and nothing handles it: the instance is in status `error`. The id is
    /// that of the invoke, or `after.<path>`.
    Stall {
        id: Arc<str>,
        error: Value,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Invoke {
    pub invocation: u64,
    pub id: Arc<str>,
    pub src: Arc<str>,
    pub input: Value,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// The permissions of the invoking state, narrowed by its ancestors; null if none are declared.
    pub policy: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Send {
    pub target: SendTarget,
    #[serde(rename = "type")]
    pub event: Arc<str>,
    pub data: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_id: Option<Arc<str>>,
}

/// The target of a send. A target in none of the known forms is looked up by the host among instances and endpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "to", content = "name", rename_all = "snake_case")]
pub enum SendTarget {
    Itself,
    Parent,
    /// A running invocation of this instance, by its invoke id.
    Invocation(Arc<str>),
    Channel(Arc<str>),
    Agent(Arc<str>),
    /// An instance id or a configured endpoint.
    Other(Arc<str>),
}
