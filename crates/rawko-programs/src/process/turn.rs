//! One turn of an external agent: its request, its host and its result. Shared by process agents and coding agents.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use rawko_core::Value;
use serde::{Deserialize, Serialize};

use rawko_model::provider::{ErrorCode, StreamEvent};
use rawko_model::{Message, StopReason, ToolSpec, ToolUse, Usage};
use rawko_tools::Running;

/// The request to the agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnRequest {
    pub agent: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// The complete request as text.
    pub prompt: String,
    pub tools: Vec<ToolSpec>,
    /// Session of an earlier turn, to resume it.
    pub session: Option<String>,
    /// The agent's role and the rules of its phase.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Task data for programs; the prompt has it as text.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub plan: Value,
    /// JSON Schema of the response.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub schema: Value,
}

/// The agent's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnResult {
    pub text: String,
    pub data: Value,
    pub stop_reason: StopReason,
    pub usage: Usage,
    pub session: Option<String>,
}

/// Resolves when the turn is cancelled.
pub type Cancelling<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Serves an agent during its turn.
pub trait TurnHost: Send + Sync {
    /// Runs a tool for the agent, through the gate like any other call.
    fn tool(&self, tool_use: ToolUse) -> Running<'_>;

    fn heard(&self, event: StreamEvent);

    /// Receives the turn's usage so far, on every update.
    fn spent(&self, _so_far: Usage) {}

    /// When it resolves, the agent is asked to stop, and terminated if it does not. Dropping the turn terminates it at
    /// once.
    fn cancelled(&self) -> Cancelling<'_> {
        Box::pin(std::future::pending())
    }
}

/// A turn that ended without a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    #[error("the agent did not start: {0}")]
    NotStarted(String),
    /// Contains the exit status and the end of stderr.
    #[error("the agent exited before it finished: {0}")]
    Ended(String),
    #[error("the agent was stopped: no output for {within}; {detail}")]
    Silent { within: String, detail: String },
    /// The agent violates the protocol.
    #[error("the agent broke the protocol: {0}")]
    Malformed(String),
    #[error("the agent wrote more than {bytes_max} bytes {what}")]
    TooLong { bytes_max: usize, what: &'static str },
    #[error("the agent requires authentication: {0}")]
    Unauthenticated(String),
    /// An error that the agent reported.
    #[error("{message}")]
    Reported { code: ErrorCode, message: String },
    #[error("the turn was cancelled")]
    Cancelled,
}

impl TurnError {
    /// Returns true if the same turn may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            TurnError::Ended(_) | TurnError::Silent { .. } => true,
            TurnError::Reported { code, .. } => code.is_transient(),
            TurnError::NotStarted(_)
            | TurnError::Malformed(_)
            | TurnError::TooLong { .. }
            | TurnError::Unauthenticated(_)
            | TurnError::Cancelled => false,
        }
    }
}

pub(crate) fn in_time(duration: Duration) -> String {
    rawko_core::duration::format_ms(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}
